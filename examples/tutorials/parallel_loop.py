"""A loop that runs all calls of an answer, until there are none; messages go back as dicts."""

import json

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="not needed")
MODEL = "smollm2-135m"

PRICES = {"tea": 3, "cake": 5}


def get_price(product: str) -> int:
    """The price of a product."""
    return PRICES[product]


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


available_functions = {"get_price": get_price, "add": add}
tools = [
    {
        "type": "function",
        "function": {
            "name": "get_price",
            "description": "The price of a product",
            "parameters": {
                "type": "object",
                "properties": {"product": {"type": "string", "enum": list(PRICES)}},
                "required": ["product"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    },
    {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "required": ["a", "b"],
                "additionalProperties": False,
            },
            "strict": True,
        },
    },
]
messages = [
    {"role": "system", "content": "You are a helpful shop assistant."},
    {"role": "user", "content": "What do tea and cake cost together?"},
]

while True:
    response = client.chat.completions.create(
        model=MODEL, messages=messages, tools=tools, parallel_tool_calls=True
    )
    message = response.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    if response.choices[0].finish_reason != "tool_calls":
        break
    for tool_call in message.tool_calls:
        function = available_functions[tool_call.function.name]
        result = function(**json.loads(tool_call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": tool_call.id, "content": str(result)})

print(messages[-1]["content"])
