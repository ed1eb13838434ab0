"""Asks the scripted model with the vendors' own SDKs and prints what they made of the answers, a line of JSON each.

Arguments: openai or anthropic, and the address of the server.
"""

import json
import sys

which, address = sys.argv[1:]
PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}


def show(**result):
    print(json.dumps(result), flush=True)


def refused(call, kind):
    try:
        call()
    except kind as error:
        return {
            "error": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "request_id": getattr(error, "request_id", None),
            "message": str(error),
        }
    return {"error": None}


def with_openai():
    import openai

    client = openai.OpenAI(base_url=f"http://{address}/v1", api_key="key", max_retries=0)

    def responses():
        tool = {"type": "function", "name": "read", "parameters": PARAMETERS, "strict": True}
        with client.responses.stream(model="a-model", input="go", tools=[tool]) as stream:
            kinds = [event.type for event in stream]
            return kinds, stream.get_final_response()

    kinds, final = responses()
    show(
        kinds=kinds,
        text=final.output_text,
        reasoning=[part.text for item in final.output if item.type == "reasoning" for part in item.summary],
        calls=[[item.call_id, item.name, item.arguments] for item in final.output if item.type == "function_call"],
        usage=[final.usage.input_tokens, final.usage.output_tokens, final.usage.input_tokens_details.cached_tokens],
        model=final.model,
        status=final.status,
    )

    def chat():
        tool = {"type": "function", "function": {"name": "read", "parameters": PARAMETERS, "strict": True}}
        messages = [{"role": "user", "content": "go"}]
        options = {"include_usage": True}
        with client.chat.completions.stream(
            model="a-model", messages=messages, tools=[tool], stream_options=options
        ) as stream:
            for _ in stream:
                pass
            return stream.get_final_completion()

    final = chat()
    message = final.choices[0].message
    show(
        text=message.content,
        calls=[[call.id, call.function.name, call.function.arguments] for call in message.tool_calls],
        usage=[final.usage.prompt_tokens, final.usage.completion_tokens, final.usage.prompt_tokens_details.cached_tokens],
        model=final.model,
        status=final.choices[0].finish_reason,
    )
    show(**refused(responses, openai.OpenAIError))
    show(**refused(chat, openai.OpenAIError))
    show(**refused(chat, openai.OpenAIError))
    whole = client.responses.create(model="a-model", input="go", stream=False)
    show(text=whole.output_text, status=whole.status)
    whole = client.chat.completions.create(model="a-model", messages=[{"role": "user", "content": "go"}], stream=False)
    show(text=whole.choices[0].message.content, status=whole.choices[0].finish_reason)


def with_anthropic():
    import anthropic

    client = anthropic.Anthropic(base_url=f"http://{address}", api_key="key", max_retries=0)
    tool = {"name": "read", "input_schema": PARAMETERS}
    asked = {"model": "a-model", "max_tokens": 100, "messages": [{"role": "user", "content": "go"}], "tools": [tool]}

    def messages():
        with client.messages.stream(**asked) as stream:
            kinds = [event.type for event in stream]
            return kinds, stream.get_final_message()

    kinds, final = messages()
    show(
        kinds=kinds,
        text="".join(block.text for block in final.content if block.type == "text"),
        reasoning=[[block.thinking, block.signature] for block in final.content if block.type == "thinking"],
        sealed=[block.data for block in final.content if block.type == "redacted_thinking"],
        calls=[[block.id, block.name, block.input] for block in final.content if block.type == "tool_use"],
        usage=[final.usage.input_tokens, final.usage.output_tokens, final.usage.cache_read_input_tokens],
        model=final.model,
        status=final.stop_reason,
    )
    show(**refused(messages, anthropic.AnthropicError))
    show(**refused(messages, anthropic.AnthropicError))
    whole = client.messages.create(**asked, stream=False)
    show(text=whole.content[0].text, status=whole.stop_reason)


{"openai": with_openai, "anthropic": with_anthropic}[which]()
