// OpenAI's client for Node: node openai.mjs BASE_URL SCENARIO prints what it came to as JSON.

import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const [baseUrl, scenario] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "Alice and Bob meet on Friday." }];
const event = z.object({
  name: z.string().max(20),
  day: z.enum(["monday", "friday"]),
});

const scenarios = {
  async parse() {
    const answer = await client.chat.completions.parse({
      model: "served",
      messages,
      response_format: zodResponseFormat(event, "event"),
    });
    return answer.choices[0].message.parsed;
  },
  async stream() {
    const runner = client.chat.completions.stream({
      model: "served",
      messages,
      response_format: zodResponseFormat(event, "event"),
    });
    return (await runner.finalChatCompletion()).choices[0].message.parsed;
  },
  async runTools() {
    const called = [];
    const runner = client.chat.completions.runTools(
      {
        model: "served",
        messages,
        max_tokens: 2000,
        parallel_tool_calls: false,
        tool_choice: "required",
        tools: [
          {
            type: "function",
            function: {
              name: "weather",
              description: "Get the weather in a city",
              parameters: {
                type: "object",
                properties: { city: { type: "string", enum: ["Paris", "Lima"] } },
                required: ["city"],
                additionalProperties: false,
              },
              parse: JSON.parse,
              function: ({ city }) => {
                called.push(city);
                return `18 degrees in ${city}`;
              },
            },
          },
        ],
      },
      { maxChatCompletions: 2 },
    );
    await runner.done();
    return { called, roles: runner.messages.map(({ role }) => role) };
  },
};

console.log(JSON.stringify(await scenarios[scenario]()));
