"""The form before tools: `functions`, `function_call`, and a message of the role `function`."""

import json

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="not needed")
MODEL = "smollm2-135m"

functions = [
    {
        "name": "find_book",
        "description": "Find a book in the library",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "year": {"type": ["integer", "null"], "minimum": 1450},
            },
            "required": ["title"],
        },
    }
]
messages = [{"role": "user", "content": "Is Emma in the library?"}]

response = client.chat.completions.create(
    model=MODEL, messages=messages, functions=functions, function_call={"name": "find_book"}
)
message = response.choices[0].message
arguments = json.loads(message.function_call.arguments)
messages.append(message)
messages.append(
    {
        "role": "function",
        "name": message.function_call.name,
        "content": json.dumps({"title": arguments["title"], "copies": 2}),
    }
)
response = client.chat.completions.create(model=MODEL, messages=messages)
print(response.choices[0].message.content)
