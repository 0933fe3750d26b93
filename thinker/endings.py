"""What a chat is told when a turn ends without an answer of its model."""

from thinker.protocol.methods import StopReason

ENDINGS = {
    StopReason.MAX_STEPS: "I stopped after the allowed number of steps without finishing. "
    "Tell me to go on if you want me to.",
    StopReason.MAX_TOKENS: "I stopped because this answer used up its token limit.",
    StopReason.DEADLINE: "I ran out of time for this one. Please try again.",
    StopReason.EMPTY: "I have no answer to that: the model returned nothing.",
    StopReason.REFUSED: "The model declined to answer this.",
    StopReason.MODEL_ERROR: "I couldn't get an answer from the model just now. "
    "Please try again in a moment.",
    StopReason.OUTPUT: "The model did not answer in the form that was asked for.",
    StopReason.TOOL_CHOICE: "The model did not use the tool that it had to use for this.",
}
CUT = "\n\n(The answer was cut off at the model's length limit.)"
