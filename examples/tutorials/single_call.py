"""One call, its result, an answer; the second request has no tools any more."""

import json

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="not needed")
MODEL = "smollm2-135m"


def get_current_weather(location: str, unit: str = "celsius") -> str:
    """Stands for a real service."""
    return json.dumps({"location": location, "temperature": 22, "unit": unit})


tools = [
    {
        "type": "function",
        "function": {
            "name": "get_current_weather",
            "description": "Get the current weather in a place",
            "parameters": {
                "type": "object",
                "properties": {
                    "location": {"type": "string", "description": "A city, as in: Oslo, Norway"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["location"],
            },
        },
    }
]
messages = [{"role": "user", "content": "How warm is it in Lisbon?"}]

response = client.chat.completions.create(
    model=MODEL, messages=messages, tools=tools, tool_choice="auto"
)
response_message = response.choices[0].message

if response_message.tool_calls:
    messages.append(response_message)
    for tool_call in response_message.tool_calls:
        function_args = json.loads(tool_call.function.arguments)
        messages.append(
            {
                "tool_call_id": tool_call.id,
                "role": "tool",
                "name": tool_call.function.name,
                "content": get_current_weather(**function_args),
            }
        )
    second_response = client.chat.completions.create(model=MODEL, messages=messages)
    print(second_response.choices[0].message.content)
else:
    print(response_message.content)
