// Vercel's AI SDK: node vercel_ai.mjs BASE_URL PROVIDER SCENARIO prints what it came to as JSON.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [baseUrl, provider, scenario] = process.argv.slice(2);
const settings = { baseURL: `${baseUrl}/v1`, apiKey: "none" };
const providers = {
  compatible: () =>
    createOpenAICompatible({ name: "local", supportsStructuredOutputs: true, ...settings }),
  responses: () => createOpenAI(settings),
  anthropic: () => createAnthropic(settings),
};
const model = providers[provider]()("served");

const recipe = Output.object({
  schema: z.object({
    name: z.string().max(20),
    ingredients: z.array(z.enum(["flour", "milk", "eggs"])).max(3),
    minutes: z.number().int().min(1).max(90).optional(),
  }),
});
const weather = tool({
  description: "Get the weather in a city",
  inputSchema: z.object({ city: z.enum(["Paris", "Lima"]) }),
  execute: async ({ city }) => ({ city, celsius: 18 }),
});
const asked = {
  model,
  prompt: "Bake something for the weather in Paris.",
  maxOutputTokens: 2000,
  maxRetries: 0,
};
const calling = {
  ...asked,
  tools: { weather },
  toolChoice: "required",
  stopWhen: stepCountIs(2),
};

function told(steps) {
  return steps.map(({ finishReason, toolResults }) => ({
    finishReason,
    cities: toolResults.map(({ output }) => output.city),
  }));
}

const scenarios = {
  async generateObject() {
    const { output } = await generateText({ ...asked, output: recipe });
    return output;
  },
  async streamObject() {
    const { partialOutputStream, output } = streamText({ ...asked, output: recipe });
    let parts = 0;
    for await (const _ of partialOutputStream) parts += 1;
    return { parts, output: await output };
  },
  async generateToolSteps() {
    const { steps } = await generateText(calling);
    return told(steps);
  },
  async streamToolSteps() {
    const result = streamText(calling);
    await result.consumeStream({ onError: (error) => { throw error; } });
    return told(await result.steps);
  },
};

console.log(JSON.stringify(await scenarios[scenario]()));
