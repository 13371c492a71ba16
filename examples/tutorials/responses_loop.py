"""The Responses API: output items go back as input, with the result of each call."""

import json

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="not needed")
MODEL = "smollm2-135m"

tools = [
    {
        "type": "function",
        "name": "get_horoscope",
        "description": "Today's horoscope for a sign of the zodiac",
        "parameters": {
            "type": "object",
            "properties": {"sign": {"type": "string", "enum": ["Aries", "Leo", "Pisces"]}},
            "required": ["sign"],
            "additionalProperties": False,
        },
        "strict": True,
    }
]


def get_horoscope(sign: str) -> str:
    """Stands for a real service."""
    return f"{sign}: you will meet a friendly seal."


input_list = [{"role": "user", "content": "I am a Leo. What does the day bring?"}]

response = client.responses.create(model=MODEL, tools=tools, input=input_list)
input_list += response.output
for item in response.output:
    if item.type == "function_call" and item.name == "get_horoscope":
        horoscope = get_horoscope(**json.loads(item.arguments))
        input_list.append(
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": json.dumps({"horoscope": horoscope}),
            }
        )

response = client.responses.create(
    model=MODEL, instructions="Tell the horoscope and nothing else.", tools=tools, input=input_list
)
print(response.output_text)
