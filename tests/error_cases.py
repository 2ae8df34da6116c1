"""Error answers of every provider, as their documentation, code or servers give them.

A case is named by (provider, condition); the conditions are those of the survey of
providers, and a few more where a provider has rules beyond it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from m3ke_async.rules import Kind


@dataclass(frozen=True, slots=True)
class Case:
    """One error answer and what it means."""

    provider: str
    condition: str
    status: int
    body: Any  # JSON, or bytes as they are
    kind: Kind
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    def __str__(self) -> str:
        return f"{self.provider}: {self.condition} ({self.status}, {self.kind})"


def nested(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def flat(message: str, **fields: Any) -> dict[str, Any]:
    return {"object": "error", "message": message, **fields}


def minimax(code: int, message: str) -> dict[str, Any]:
    return {"id": "0", "choices": None, "base_resp": {"status_code": code, "status_msg": message}}


def qianfan(code: int, message: str) -> dict[str, Any]:
    return {"error_code": code, "error_msg": message, "id": "as-1"}


def gemini(code: int, status: str, message: str, *details: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"error": {"code": code, "message": message, "status": status, "details": list(details)}}]


def quota(quota_id: str) -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaMetric": "generate_content_requests", "quotaId": quota_id}],
    }


def zhipu(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def reply(finish: str, content: str | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    return {
        "object": "chat.completion",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }


def message(**fields: Any) -> dict[str, Any]:
    """A completion whose message holds no content, and these fields."""
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": None, **fields}}]}


_QUOTA = "You exceeded your current quota, please check your plan and billing details."
_RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "57.238747106s"}
_AZURE_FILTER = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
)
_NAUGHTY = "Input or output data may contain inappropriate content."
_ARK_LIMITS = (
    "RateLimitExceeded.EndpointRPMExceeded",
    "RateLimitExceeded.EndpointTPMExceeded",
    "ModelAccountRpmRateLimitExceeded",
    "ModelAccountTpmRateLimitExceeded",
    "ModelAccountIpmRateLimitExceeded",
    "APIAccountRpmRateLimitExceeded",
    "AccountRateLimitExceeded",
    "InflightBatchsizeExceeded",
    "RequestBurstTooFast",
)
_ARK_FILTERS = (
    "SensitiveContentDetected.SevereViolation",
    "InputTextSensitiveContentDetected",
    "OutputTextSensitiveContentDetected",
)


def _ark(condition: str, status: int, kind: Kind, *codes: str) -> list[Case]:
    return [
        Case(
            "volcengine-ark",
            condition,
            status,
            nested(f"{code}. Request ID: 021700", code=code, param="", type="BadRequest"),
            kind,
        )
        for code in codes
    ]


def _zhipu(condition: str, status: int, kind: Kind, *codes: int) -> list[Case]:
    return [Case("zhipu", condition, status, zhipu(str(code), "见错误码"), kind) for code in codes]


def _minimax(condition: str, kind: Kind, *codes: int) -> list[Case]:
    return [Case("minimax", condition, 200, minimax(code, "error"), kind) for code in codes]


def _qianfan(condition: str, kind: Kind, *codes: int) -> list[Case]:
    return [Case("qianfan", condition, 200, qianfan(code, "error"), kind) for code in codes]


def _dashscope(
    condition: str, status: int, kind: Kind, *codes: str, message: str = "Request failed."
) -> list[Case]:
    return [
        Case("dashscope", condition, status, nested(message, type=code, code=code, param=None), kind)
        for code in codes
    ]


K = Kind
CASES: tuple[Case, ...] = (
    # OpenAI
    Case(
        "openai",
        "bad key",
        401,
        nested("Incorrect API key provided: sk-ab***xyz.", code="invalid_api_key"),
        K.BAD_KEY,
    ),
    Case("openai", "bad key", 401, nested("Invalid Authentication", type="invalid_request_error"), K.BAD_KEY),
    Case(
        "openai",
        "unsupported region",
        403,
        nested("Country, region, or territory not supported"),
        K.FORBIDDEN,
    ),
    Case(
        "openai",
        "unknown or shut-down model",
        404,
        nested(
            "The model `gpt-3.5-turbo` does not exist or you do not have access to it.",
            code="model_not_found",
        ),
        K.NO_MODEL,
    ),
    Case(
        "openai",
        "unknown or shut-down model",
        404,
        nested("It does not exist or you do not have access"),
        K.NO_MODEL,
    ),
    Case(
        "openai",
        "rate limit",
        429,
        nested("Rate limit reached for requests", type="requests", code="rate_limit_exceeded"),
        K.RATE_LIMIT,
    ),
    Case("openai", "no money / spend cap", 429, nested(_QUOTA, type="insufficient_quota"), K.NO_MONEY),
    Case("openai", "no money / spend cap", 429, nested(_QUOTA), K.NO_MONEY),
    Case(
        "openai",
        "no money / spend cap",
        429,
        nested("No credit.", type="insufficient_quota", code="credit_balance_exhausted"),
        K.NO_MONEY,
    ),
    Case("openai", "slow down / overload", 503, nested("Slow down", code="slow_down"), K.OVERLOAD),
    Case("openai", "slow down / overload", 503, nested("Busy", type="service_unavailable_error"), K.OVERLOAD),
    Case(
        "openai",
        "context too long",
        400,
        nested(
            "Too many tokens.", type="invalid_request_error", param="messages", code="context_length_exceeded"
        ),
        K.TOO_LONG,
    ),
    Case(
        "openai",
        "prompt refused (reasoning models)",
        400,
        nested("Flagged.", code="invalid_prompt"),
        K.FILTERED,
    ),
    Case(
        "openai",
        "max_tokens on newer models",
        400,
        nested(
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
            type="invalid_request_error",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        K.BAD_PARAMETER,
    ),
    Case(
        "openai",
        "temperature on reasoning models",
        400,
        nested(
            "'temperature' does not support 0 with this model.", param="temperature", code="unsupported_value"
        ),
        K.BAD_PARAMETER,
    ),
    # Azure OpenAI
    Case(
        "azure-openai",
        "bad key",
        401,
        {"error": {"code": "401", "message": "Access denied due to invalid key."}},
        K.BAD_KEY,
    ),
    Case(
        "azure-openai",
        "unknown deployment",
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist."}},
        K.NO_MODEL,
    ),
    Case(
        "azure-openai", "rate limit", 429, nested("Please retry after 6 seconds.", code="429"), K.RATE_LIMIT
    ),
    Case(
        "azure-openai",
        "content filter on the prompt",
        400,
        nested(
            _AZURE_FILTER,
            code="content_filter",
            param="prompt",
            type=None,
            status=400,
            innererror={
                "code": "ResponsibleAIPolicyViolation",
                "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
            },
        ),
        K.FILTERED,
    ),
    Case(
        "azure-openai",
        "content filter on the prompt",
        400,
        nested(_AZURE_FILTER, code="content_filter"),
        K.FILTERED,
    ),
    Case("azure-openai", "content filter on the reply", 200, reply("content_filter", ""), K.FILTERED),
    Case("azure-openai", "no credit", 429, nested(_QUOTA, code="insufficient_quota"), K.NO_MONEY),
    # DeepSeek
    Case(
        "deepseek",
        "bad key",
        401,
        nested("Authentication Fails, Your api key is invalid", code="invalid_request_error"),
        K.BAD_KEY,
    ),
    Case(
        "deepseek",
        "no balance",
        402,
        nested("Insufficient Balance", code="invalid_request_error"),
        K.NO_MONEY,
    ),
    Case("deepseek", "no balance", 402, b"", K.NO_MONEY),
    Case("deepseek", "bad parameter", 422, nested("Invalid parameters"), K.BAD_PARAMETER),
    Case("deepseek", "rate or concurrency", 429, nested("Rate limit reached"), K.RATE_LIMIT),
    Case("deepseek", "server error", 500, nested("Server error"), K.SERVER_ERROR),
    Case("deepseek", "overloaded", 503, nested("Try later"), K.OVERLOAD),
    Case(
        "deepseek",
        "content refused",
        400,
        nested("Content Exists Risk", code="invalid_request_error"),
        K.FILTERED,
    ),
    Case(
        "deepseek", "unknown model", 400, nested("Model Not Exist", code="invalid_request_error"), K.NO_MODEL
    ),
    Case("deepseek", "no resource", 200, reply("insufficient_system_resource"), K.SERVER_ERROR),
    # DashScope
    *_dashscope("bad key or wrong region", 401, K.BAD_KEY, "InvalidApiKey", "invalid_api_key"),
    *_dashscope("arrears", 400, K.NO_MONEY, "Arrearage"),
    *_dashscope("free tier only mode", 403, K.NO_MONEY, "AllocationQuota.FreeTierOnly"),
    *_dashscope("access denied", 403, K.FORBIDDEN, "AccessDenied.Unpurchased", "Model.AccessDenied"),
    *_dashscope("unknown model", 404, K.NO_MODEL, "model_not_found", "model_not_supported"),
    *_dashscope("request rate", 429, K.RATE_LIMIT, "Throttling.RateQuota", "limit_requests"),
    *_dashscope("burst", 429, K.RATE_LIMIT, "Throttling.BurstRate", "limit_burst_rate"),
    *_dashscope(
        "token rate", 429, K.RATE_LIMIT, "Throttling.AllocationQuota", "insufficient_quota", message=_QUOTA
    ),
    *_dashscope(
        "free quota gone", 429, K.NO_MONEY, "insufficient_quota", message="Free allocated quota exceeded."
    ),
    *_dashscope(
        "bill overdue", 429, K.NO_MONEY, "PrepaidBillOverdue", "PostpaidBillOverdue", "CommodityNotPurchased"
    ),
    *_dashscope(
        "content inspection",
        400,
        K.FILTERED,
        "DataInspectionFailed",
        "data_inspection_failed",
        message=_NAUGHTY,
    ),
    *_dashscope(
        "custom policy / IP", 400, K.FILTERED, "CustomRoleBlocked", "FaqRuleBlocked", "IPInfringementSuspect"
    ),
    *_dashscope(
        "too long",
        400,
        K.TOO_LONG,
        "InvalidParameter",
        "invalid_parameter_error",
        message="Range of input length should be [1, 30720]",
    ),
    *_dashscope(
        "thinking needs stream",
        400,
        K.BAD_PARAMETER,
        "invalid_parameter_error",
        message="parameter.enable_thinking must be set to false for non-streaming calls",
    ),
    *_dashscope(
        "stream only",
        400,
        K.BAD_PARAMETER,
        "invalid_parameter_error",
        message="This model only support stream mode, please enable the stream parameter.",
    ),
    *_dashscope("time-out", 500, K.TIMEOUT, "RequestTimeOut"),
    *_dashscope("serving overload", 503, K.OVERLOAD, "ModelServingError"),
    # Zhipu
    *_zhipu("bad key", 401, K.BAD_KEY, 1000, 1001, 1002, 1003, 1004),
    *_zhipu("account locked/inactive", 429, K.FORBIDDEN, 1110, 1111, 1112, 1121),
    *_zhipu("arrears", 429, K.NO_MONEY, 1113),
    *_zhipu("bad parameter", 400, K.BAD_PARAMETER, 1210, 1213, 1214, 1215),
    *_zhipu("unknown model", 400, K.NO_MODEL, 1211),
    *_zhipu("prompt too long", 400, K.TOO_LONG, 1261),
    *_zhipu("unsafe content", 400, K.FILTERED, 1301),
    *_zhipu("rate/concurrency", 429, K.RATE_LIMIT, 1302, 1303),
    *_zhipu("daily cap", 429, K.DAILY_LIMIT, 1304),
    *_zhipu("platform overloaded", 429, K.OVERLOAD, 1305, 1312),
    *_zhipu("plan quota with reset time", 429, K.DAILY_LIMIT, 1308, 1310),
    *_zhipu("plan expired / model not in plan", 429, K.FORBIDDEN, 1309, 1311, 1313),
    *_zhipu("network error inside", 500, K.SERVER_ERROR, 1234),
    Case("zhipu", "no permission", 434, zhipu("", "无API权限"), K.FORBIDDEN),
    Case("zhipu", "sensitive reply", 200, reply("sensitive"), K.FILTERED),
    Case("zhipu", "network error", 200, reply("network_error"), K.SERVER_ERROR),
    # Moonshot
    Case(
        "moonshot",
        "bad key",
        401,
        nested("Invalid Authentication", type="invalid_authentication_error"),
        K.BAD_KEY,
    ),
    Case(
        "moonshot",
        "no balance / suspended",
        429,
        nested("Suspended", type="exceeded_current_quota_error"),
        K.NO_MONEY,
    ),
    Case(
        "moonshot",
        "no balance / suspended",
        403,
        nested("Suspended", type="exceeded_current_quota_error"),
        K.NO_MONEY,
    ),
    Case("moonshot", "no permission", 403, nested("No", type="permission_denied_error"), K.FORBIDDEN),
    Case(
        "moonshot",
        "unknown model",
        404,
        nested("Not found the model", type="resource_not_found_error"),
        K.NO_MODEL,
    ),
    Case(
        "moonshot",
        "rate/concurrency",
        429,
        nested(
            "max organization concurrency: 1, please try again after 1 seconds",
            type="rate_limit_reached_error",
        ),
        K.RATE_LIMIT,
    ),
    Case(
        "moonshot",
        "overloaded",
        429,
        nested("The engine is currently overloaded", type="engine_overloaded_error"),
        K.OVERLOAD,
    ),
    Case("moonshot", "content refused", 400, nested("High risk", type="content_filter"), K.FILTERED),
    Case(
        "moonshot",
        "too long",
        400,
        nested("exceeded model token limit: 262144 (requested: 300000)", type="invalid_request_error"),
        K.TOO_LONG,
    ),
    # Baichuan
    Case("baichuan", "bad key", 401, nested("Bad key", code="invalid_api_key"), K.BAD_KEY),
    Case(
        "baichuan",
        "bad request or filtered",
        400,
        nested("Bad request", type="invalid_request_error"),
        K.BAD_REQUEST,
    ),
    Case("baichuan", "rate limit", 429, b"", K.RATE_LIMIT),
    # MiniMax
    *_minimax("rate limit", K.RATE_LIMIT, 1002, 1039),
    *_minimax("bad key", K.BAD_KEY, 1004, 2049),
    *_minimax("no balance", K.NO_MONEY, 1008),
    *_minimax("internal/time-out", K.SERVER_ERROR, 1000, 1001, 1013),
    *_minimax("bad parameter", K.BAD_PARAMETER, 2013),
    *_minimax("input refused", K.FILTERED, 1026),
    *_minimax("output refused", K.FILTERED, 1027),
    Case("minimax", "input refused", 422, nested("input new_sensitive"), K.FILTERED),
    Case("minimax", "output refused", 422, flat("output new_sensitive", code=1027), K.FILTERED),
    # Hunyuan
    Case(
        "hunyuan",
        "rate limit",
        429,
        {"Response": {"Error": {"Code": "LimitExceeded", "Message": "x"}}},
        K.RATE_LIMIT,
    ),
    Case("hunyuan", "rate limit", 429, nested("x", code="RequestLimitExceeded"), K.RATE_LIMIT),
    Case("hunyuan", "server", 500, nested("x", code="InternalError"), K.SERVER_ERROR),
    Case("hunyuan", "server", 500, nested("x", type="ServerNetworkError"), K.SERVER_ERROR),
    # Volcengine Ark
    *_ark("missing/bad parameter", 400, K.BAD_PARAMETER, "MissingParameter", "InvalidParameter"),
    *_ark("endpoint closed", 400, K.NO_MODEL, "InvalidEndpoint.ClosedEndpoint"),
    *_ark("bad key", 401, K.BAD_KEY, "AuthenticationError"),
    *_ark("arrears", 403, K.NO_MONEY, "AccountOverdueError"),
    *_ark("access denied", 403, K.FORBIDDEN, "AccessDenied"),
    *_ark("unknown model", 404, K.NO_MODEL, "InvalidEndpointOrModel.NotFound", "ModelNotOpen"),
    *_ark("rate limit", 429, K.RATE_LIMIT, *_ARK_LIMITS),
    *_ark("overloaded", 429, K.OVERLOAD, "ServerOverloaded"),
    *_ark(
        "service overdue",
        403,
        K.NO_MONEY,
        "OperationDenied.ServiceOverdue",
        "InvalidAccountStatus",
        "InvalidSubscription",
    ),
    *_ark("content refused", 400, K.FILTERED, *_ARK_FILTERS),
    *_ark("server", 500, K.SERVER_ERROR, "InternalServiceError"),
    Case(
        "volcengine-ark",
        "too long",
        400,
        nested("Total tokens of image and text exceed max message tokens", code="InvalidParameter"),
        K.TOO_LONG,
    ),
    # Qianfan
    Case(
        "qianfan",
        "bad request",
        400,
        nested("x", code="malformed_json", type="invalid_request_error"),
        K.BAD_PARAMETER,
    ),
    Case(
        "qianfan",
        "bad request",
        400,
        nested("x", code="invalid_model", type="invalid_request_error"),
        K.NO_MODEL,
    ),
    Case("qianfan", "bad request", 400, nested("x", code="invalid_messages"), K.BAD_PARAMETER),
    Case("qianfan", "bad request", 400, nested("x", code="invalid_argument"), K.BAD_PARAMETER),
    Case("qianfan", "too long", 400, nested("x", code="characters_too_long"), K.TOO_LONG),
    Case("qianfan", "too long", 400, nested("x", code="tokens_too_long"), K.TOO_LONG),
    *_qianfan("v1 token bad", K.BAD_KEY, 110, 111),
    *_qianfan("v1 rate", K.RATE_LIMIT, 4, 18, 336501, 336502),
    *_qianfan("v1 daily", K.DAILY_LIMIT, 17, 19),
    *_qianfan("v1 high load", K.OVERLOAD, 336100, 2, 336000),
    *_qianfan("v1 prompt refused/too long", K.TOO_LONG, 336103, 336007),
    Case("qianfan", "app layer balance", 429, nested("x", code="BILLING_INSUFFICIENT_BALANCE"), K.NO_MONEY),
    Case("qianfan", "app layer balance", 429, nested("x", code="QUOTA_USER_DAILY_FREE"), K.DAILY_LIMIT),
    # SiliconFlow
    Case("siliconflow", "bad key", 401, b'"Invalid token"', K.BAD_KEY),
    Case(
        "siliconflow",
        "no balance",
        403,
        {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None},
        K.NO_MONEY,
    ),
    Case(
        "siliconflow",
        "unknown model",
        400,
        {"code": 20012, "message": "Model does not exist", "data": None},
        K.NO_MODEL,
    ),
    Case("siliconflow", "token rate", 429, {"message": "TPM limit reached.", "data": None}, K.RATE_LIMIT),
    Case(
        "siliconflow", "overloaded", 503, {"code": 50505, "message": "Model service overloaded."}, K.OVERLOAD
    ),
    Case("siliconflow", "overloaded", 503, b"System is too busy now. Please try again later.", K.OVERLOAD),
    # OpenRouter
    Case("openrouter", "bad request", 400, nested("Bad request", code=400), K.BAD_PARAMETER),
    Case("openrouter", "bad key", 401, nested("No cookie auth credentials found", code=401), K.BAD_KEY),
    Case(
        "openrouter",
        "no credit",
        402,
        nested("Insufficient credits", code=402, metadata={"limit_source": "openrouter_credits"}),
        K.NO_MONEY,
    ),
    Case("openrouter", "a wait", 402, nested("Soon", code=402), K.RATE_LIMIT, {"Retry-After": "5"}),
    Case(
        "openrouter",
        "moderation",
        403,
        nested(
            "Your input did not pass.", code=403, metadata={"reasons": ["violence"], "flagged_input": "…"}
        ),
        K.FILTERED,
    ),
    Case("openrouter", "moderation", 403, nested("Your input was flagged", code=403), K.FILTERED),
    Case("openrouter", "time-out", 408, nested("Timed out", code=408), K.TIMEOUT),
    Case("openrouter", "rate", 429, nested("Rate limited", code=429), K.RATE_LIMIT),
    Case("openrouter", "upstream down", 502, nested("Provider returned error", code=502), K.SERVER_ERROR),
    Case(
        "openrouter",
        "no provider",
        503,
        nested("No provider meets your routing requirements", code=503),
        K.NO_MODEL,
    ),
    Case("openrouter", "no provider", 404, nested("No endpoints found for a/b.", code=404), K.NO_MODEL),
    Case("openrouter", "error after start", 200, nested("Rate limited", code=429), K.RATE_LIMIT),
    Case(
        "openrouter",
        "error after start",
        200,
        {"choices": [{"finish_reason": "error", "error": {"code": 502, "message": "Provider disconnected"}}]},
        K.SERVER_ERROR,
    ),
    Case(
        "openrouter",
        "too long upstream",
        400,
        nested(
            "Provider returned error",
            code=400,
            metadata={
                "raw": '{"error":{"message":"maximum context length is 4096 tokens"}}',
                "provider_name": "X",
            },
        ),
        K.TOO_LONG,
    ),
    # Groq
    Case("groq", "rate", 429, nested("Please try again in 7.66s", code="rate_limit_exceeded"), K.RATE_LIMIT),
    Case(
        "groq",
        "request bigger than TPM",
        413,
        nested("Request too large", code="rate_limit_exceeded"),
        K.TOO_LONG,
    ),
    Case("groq", "overload", 503, nested("Service unavailable"), K.OVERLOAD),
    Case("groq", "flex capacity", 498, nested("Over capacity", code="capacity_exceeded"), K.OVERLOAD),
    # Together
    Case(
        "together", "bad request", 400, nested("Bad request", type="invalid_request_error"), K.BAD_PARAMETER
    ),
    Case("together", "bad key", 401, nested("Invalid API key"), K.BAD_KEY),
    Case("together", "spend cap", 402, nested("You reached your spending limit"), K.NO_MONEY),
    Case(
        "together",
        "context too long",
        403,
        nested("Input token count + max_tokens must be less than the model's context length"),
        K.TOO_LONG,
    ),
    Case("together", "no right", 403, nested("Your organization may not use this"), K.FORBIDDEN),
    Case("together", "unknown model", 404, nested("Not found"), K.NO_MODEL),
    Case("together", "rate", 429, nested("Too many requests"), K.RATE_LIMIT),
    Case("together", "server", 500, nested("Server error"), K.SERVER_ERROR),
    Case("together", "overloaded", 503, nested("Engine Overloaded"), K.OVERLOAD),
    Case("together", "overloaded", 503, b"", K.OVERLOAD),
    # Mistral
    Case("mistral", "bad key", 401, {"detail": "Unauthorized"}, K.BAD_KEY),
    Case(
        "mistral",
        "unknown parameter",
        422,
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}
            ]
        },
        K.BAD_PARAMETER,
    ),
    Case(
        "mistral",
        "unknown parameter",
        422,
        {
            "object": "error",
            "message": {
                "detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Not permitted"}]
            },
            "type": "invalid_request_error",
        },
        K.BAD_PARAMETER,
    ),
    Case("mistral", "rate", 429, flat("Rate limit exceeded", type="rate_limited", code="1300"), K.RATE_LIMIT),
    Case(
        "mistral",
        "no allowance",
        429,
        flat("Rate limit exceeded", type="rate_limited", code="1300"),
        K.NO_MONEY,
        {"x-ratelimit-limit-req-minute": "0"},
    ),
    # Anthropic
    *(
        Case(
            "anthropic-compat",
            condition,
            status,
            {"type": "error", "error": {"type": kind, "message": message}},
            meaning,
        )
        for condition, status, kind, message, meaning in (
            ("bad key", 401, "authentication_error", "invalid x-api-key", K.BAD_KEY),
            ("permission", 403, "permission_error", "no permission", K.FORBIDDEN),
            ("unknown model", 404, "not_found_error", "model: claude-0", K.NO_MODEL),
            ("no such path", 404, "not_found_error", "Not found", K.WRONG_ADDRESS),
            ("too large", 413, "request_too_large", "Request exceeds the maximum size", K.TOO_LONG),
            ("rate", 429, "rate_limit_error", "This request would exceed the rate limit", K.RATE_LIMIT),
            ("low credit", 400, "invalid_request_error", "Your credit balance is too low", K.NO_MONEY),
            ("overloaded", 529, "overloaded_error", "Overloaded", K.OVERLOAD),
        )
    ),
    # Gemini
    Case("gemini-compat", "bad key", 400, gemini(400, "INVALID_ARGUMENT", "API key not valid."), K.BAD_KEY),
    Case(
        "gemini-compat", "unknown model", 404, gemini(404, "NOT_FOUND", "models/x is not found"), K.NO_MODEL
    ),
    Case(
        "gemini-compat",
        "per-minute limit",
        429,
        gemini(429, "RESOURCE_EXHAUSTED", _QUOTA, quota("GenerateRequestsPerMinutePerProject"), _RETRY),
        K.RATE_LIMIT,
    ),
    Case("gemini-compat", "per-minute limit", 429, nested(_QUOTA), K.RATE_LIMIT),
    Case(
        "gemini-compat",
        "per-day limit",
        429,
        gemini(
            429,
            "RESOURCE_EXHAUSTED",
            _QUOTA,
            quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
            _RETRY,
        ),
        K.DAILY_LIMIT,
    ),
    Case(
        "gemini-compat", "overload", 503, gemini(503, "UNAVAILABLE", "The model is overloaded."), K.OVERLOAD
    ),
    Case("gemini-compat", "blocked", 200, reply("content_filter"), K.FILTERED),
    Case("gemini-compat", "blocked", 200, {"object": "chat.completion", "choices": []}, K.FILTERED),
    Case("gemini-compat", "blocked", 200, reply("stop", None), K.FILTERED),
    # vLLM
    Case("vllm", "bad key", 401, {"error": "Unauthorized"}, K.BAD_KEY),
    Case(
        "vllm",
        "unknown model",
        404,
        nested("The model `x` does not exist.", type="NotFoundError", param="model", code=404),
        K.NO_MODEL,
    ),
    Case(
        "vllm",
        "unknown model",
        404,
        flat("The model `x` does not exist.", type="NotFoundError", param=None, code=404),
        K.NO_MODEL,
    ),
    Case(
        "vllm",
        "context too long",
        400,
        nested("This model's maximum context length is 4096 tokens.", type="BadRequestError", code=400),
        K.TOO_LONG,
    ),
    Case(
        "vllm",
        "engine dead",
        500,
        nested("EngineCore encountered an issue.", type="InternalServerError", code=500),
        K.ENGINE_DEAD,
    ),
    Case("vllm", "one failed request", 500, nested("", type="InternalServerError", code=500), K.SERVER_ERROR),
    # SGLang
    Case("sglang", "bad key", 401, {"error": "Unauthorized"}, K.BAD_KEY),
    Case("sglang", "no right", 403, {"error": "Forbidden"}, K.FORBIDDEN),
    Case(
        "sglang",
        "validation / too long",
        400,
        flat(
            "The input is longer than the model's context length (4096 tokens).",
            type="400",
            code=400,
            param=None,
        ),
        K.TOO_LONG,
    ),
    Case(
        "sglang",
        "validation / too long",
        400,
        flat("Bad message", type="400", code=400, param=None),
        K.BAD_REQUEST,
    ),
    Case("sglang", "abort", 500, flat("Aborted", type="500", code=500), K.SERVER_ERROR),
    Case("sglang", "abort", 503, flat("Aborted", type="503", code=503), K.OVERLOAD),
    Case("sglang", "abort", 200, reply("abort"), K.SERVER_ERROR),
    # TGI
    Case("tgi", "overloaded", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, K.OVERLOAD),
    Case("tgi", "generation failed", 424, {"error": "CANCELLED", "error_type": "generation"}, K.SERVER_ERROR),
    Case(
        "tgi",
        "too long / bad field",
        422,
        {
            "error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. "
            "Given: 5000 `inputs` tokens and 16 `max_new_tokens`",
            "error_type": "validation",
        },
        K.TOO_LONG,
    ),
    Case(
        "tgi",
        "too long / bad field",
        422,
        {"error": "Input validation error: `inputs` cannot be empty", "error_type": "validation"},
        K.BAD_REQUEST,
    ),
    Case(
        "tgi",
        "bad setting",
        422,
        {"error": "Input validation error: `top_p` must be > 0.0 and < 1.0", "error_type": "validation"},
        K.BAD_PARAMETER,
    ),
    Case(
        "tgi",
        "incomplete",
        500,
        {"error": "Incomplete generation", "error_type": "incomplete_generation"},
        K.SERVER_ERROR,
    ),
    Case("tgi", "not healthy", 503, {"error": "unhealthy", "error_type": "healthcheck"}, K.OVERLOAD),
    Case("tgi", "bad key", 401, b"", K.BAD_KEY),
    Case(
        "tgi", "wrong type", 422, b"Failed to deserialize the JSON body into the target type", K.BAD_PARAMETER
    ),
    # LMDeploy
    *(
        Case("lmdeploy", condition, status, flat(message, type=kind, code=status, param=None), meaning)
        for condition, status, kind, message, meaning in (
            ("bad key", 401, "authentication_error", "Please request with valid api key!", K.BAD_KEY),
            ("unknown model", 404, "not_found_error", "The model 'x' does not exist.", K.NO_MODEL),
            ("conflict", 409, "REQUEST_CONFLICT", "Session is in use", K.SERVER_ERROR),
            ("cancelled", 499, "", "cancelled", K.SERVER_ERROR),
            ("engine unavailable", 503, "server_error", "unavailable", K.OVERLOAD),
            (
                "bad request",
                400,
                "invalid_request_error",
                "The temperature 3 must be in [0, 2]",
                K.BAD_PARAMETER,
            ),
        )
    ),
    # llama.cpp, alone and inside m3ke
    *(
        case
        for name in ("llamacpp", "local")
        for case in (
            Case(
                name,
                "context too long",
                400,
                nested(
                    "the request exceeds it",
                    code=400,
                    type="exceed_context_size_error",
                    n_prompt_tokens=9,
                    n_ctx=8,
                ),
                K.TOO_LONG,
            ),
            Case(
                name,
                "model loading",
                503,
                nested("Loading model", code=503, type="unavailable_error"),
                K.LOADING,
            ),
            Case(
                name,
                "bad key",
                401,
                nested("Invalid API Key", code=401, type="authentication_error"),
                K.BAD_KEY,
            ),
        )
    ),
    # Ollama
    Case(
        "ollama",
        "unknown model",
        404,
        nested('model "x" not found, try pulling it first', type="not_found_error"),
        K.NO_MODEL,
    ),
    Case(
        "ollama",
        "queue full",
        503,
        nested("server busy, please try again.  maximum pending requests exceeded"),
        K.OVERLOAD,
    ),
    Case(
        "ollama",
        "bad request",
        400,
        nested("invalid", type="invalid_request_error", code=None),
        K.BAD_PARAMETER,
    ),
    # LiteLLM
    Case(
        "litellm-proxy",
        "budget exceeded",
        400,
        nested("Budget!", type="budget_exceeded", code="400"),
        K.NO_MONEY,
    ),
    Case(
        "litellm-proxy",
        "budget exceeded",
        429,
        nested("ExceededBudget: User over budget", code="429"),
        K.NO_MONEY,
    ),
    Case(
        "litellm-proxy",
        "content policy",
        400,
        nested("litellm.ContentPolicyViolationError: no", code="400"),
        K.FILTERED,
    ),
    Case(
        "litellm-proxy",
        "context",
        400,
        nested("litellm.ContextWindowExceededError: x", code="400"),
        K.TOO_LONG,
    ),
    Case(
        "litellm-proxy",
        "no deployment",
        429,
        nested("No deployments available for selected model, Try again in 60 seconds.", code="429"),
        K.OVERLOAD,
    ),
    # Any other address
    Case("custom", "quota", 429, nested(_QUOTA, code="insufficient_quota"), K.NO_MONEY_MAYBE),
    Case("custom", "quota", 429, nested(_QUOTA), K.NO_MONEY_MAYBE),
    Case("custom", "content check", 400, nested("no", code="content_filter"), K.FILTERED),
    Case("custom", "content check", 400, nested("Content Exists Risk"), K.FILTERED),
    Case("custom", "too long", 400, nested("x", code="context_length_exceeded"), K.TOO_LONG),
    Case("custom", "too long", 400, nested("x", param="input_tokens"), K.TOO_LONG),
    Case("custom", "too long", 400, nested("This model's maximum context length is 8."), K.TOO_LONG),
    Case(
        "custom", "larger than a minute", 429, nested("Request too large for x on tokens per min"), K.TOO_LONG
    ),
    Case("custom", "larger than the server takes", 413, b"", K.TOO_LONG),
    Case("custom", "no model", 400, nested("x", code="model_not_found"), K.NO_MODEL),
    Case("custom", "no model", 400, {"detail": "Server is pinned to 'a'; requested 'b'."}, K.NO_MODEL),
    Case("custom", "no model", 404, nested("The model `x` is unknown here"), K.NO_MODEL),
    Case("custom", "no model", 410, b"", K.NO_MODEL),
    Case("custom", "no path", 404, nested("Invalid URL (POST /v1/models/chat/completions)"), K.WRONG_ADDRESS),
    Case(
        "custom", "no path", 404, nested("File Not Found", type="not_found_error", code=404), K.WRONG_ADDRESS
    ),
    Case("custom", "no path", 404, {"detail": "Not Found"}, K.WRONG_ADDRESS),
    Case("custom", "no path", 404, b"404 page not found", K.WRONG_ADDRESS),
    Case("custom", "no path", 404, b"", K.WRONG_ADDRESS),
    Case("custom", "no path", 404, b"<html><title>No model here</title></html>", K.WRONG_ADDRESS),
    Case("custom", "no path", 405, {"detail": "Method Not Allowed"}, K.WRONG_ADDRESS),
    Case(
        "custom", "http sent to https", 400, b"<html><title>400 Bad Request</title></html>", K.WRONG_ADDRESS
    ),
    Case(
        "custom", "redirect", 302, b"", K.WRONG_ADDRESS, {"Location": "https://login.example/?token=abc123"}
    ),
    Case("custom", "bad key", 401, nested("x"), K.BAD_KEY),
    Case("custom", "bad key", 403, nested("x", code="invalid_api_key"), K.BAD_KEY),
    Case("custom", "no money", 402, b"", K.NO_MONEY),
    Case("custom", "no money", 403, nested("账户余额不足"), K.NO_MONEY),
    Case("custom", "no money", 429, nested("x", code="insufficient_balance"), K.NO_MONEY),
    Case("custom", "no right", 403, nested("x"), K.FORBIDDEN),
    Case(
        "custom",
        "blocked by a gateway",
        403,
        b"<!DOCTYPE html><title>Attention Required!</title>",
        K.FORBIDDEN,
    ),
    Case("openrouter", "gateway", 503, b"<html><title>503</title></html>", K.OVERLOAD),
    Case("custom", "proxy", 407, b"", K.FORBIDDEN),
    Case("transformers", "model", 400, {"detail": "Server is pinned to 'a'; requested 'b'."}, K.NO_MODEL),
    Case("custom", "rate", 429, b"", K.RATE_LIMIT),
    Case("custom", "rate", 200, nested("x", code="rate_limit_exceeded"), K.RATE_LIMIT),
    Case("custom", "overload", 500, nested("Overloaded"), K.OVERLOAD),
    Case("custom", "overload", 500, nested("x", type="overloaded_error"), K.OVERLOAD),
    Case("custom", "overload", 503, b"<html><title>503</title></html>", K.OVERLOAD),
    Case(
        "custom", "server", 502, b"<html><head><title>502 Bad Gateway</title></head></html>", K.SERVER_ERROR
    ),
    Case("custom", "loading", 503, nested("Model x is currently loading"), K.LOADING),
    Case("custom", "server", 500, b"Internal Server Error", K.SERVER_ERROR),
    Case("custom", "server", 524, b"error code: 524", K.SERVER_ERROR),
    Case("custom", "time-out", 408, b"", K.TIMEOUT),
    Case("custom", "try again", 409, b"", K.SERVER_ERROR),
    Case("custom", "try again", 425, b"", K.SERVER_ERROR),
    Case("custom", "parameter", 400, nested("x", code="unknown_parameter"), K.BAD_PARAMETER),
    Case("custom", "parameter", 400, nested("Unrecognized request argument supplied: seed"), K.BAD_PARAMETER),
    Case("custom", "parameter", 400, nested("Field 'temperature': must be number"), K.BAD_PARAMETER),
    Case("custom", "parameter", 400, nested("x", param="temperature"), K.BAD_PARAMETER),
    Case("custom", "messages", 400, nested("x", param="messages"), K.BAD_REQUEST),
    Case("custom", "unknown", 400, nested("x"), K.BAD_REQUEST),
    Case("custom", "unknown", 418, b"", K.BAD_REQUEST),
    Case("custom", "unknown error with success", 200, nested("x"), K.SERVER_ERROR),
    Case("custom", "no choices", 200, {}, K.NO_CHOICES),
    Case("custom", "no choices", 200, {"choices": None}, K.NO_CHOICES),
    Case("custom", "no choices", 200, {"choices": []}, K.NO_CHOICES),
    Case("custom", "no choices", 200, {"choices": ["text"]}, K.NO_CHOICES),
    Case("custom", "no message", 200, {"choices": [{"message": None}]}, K.NO_CHOICES),
    Case("custom", "no text", 200, reply("stop", None), K.EMPTY),
    Case("custom", "a tool is called", 200, message(tool_calls=[{"id": "1"}]), K.TOOL_CALL),
    Case("custom", "thoughts alone", 200, message(reasoning_content="hm"), K.ONLY_REASONING),
    Case("custom", "sound", 200, message(audio={"data": "AAAA"}), K.NOT_TEXT),
    Case("custom", "filtered", 200, reply("content_filter"), K.FILTERED),
    Case("custom", "filtered", 200, reply("sensitive"), K.FILTERED),
    Case("custom", "malformed", 200, b"", K.MALFORMED),
    Case("custom", "malformed", 200, b'{"choices": [{"mess', K.MALFORMED),
    Case("custom", "malformed", 200, b"[]", K.MALFORMED),
    Case("custom", "malformed", 200, b'"text"', K.MALFORMED),
    Case("custom", "malformed", 204, b"", K.MALFORMED),
    Case("custom", "web page", 200, b"  <!DOCTYPE html>\n<html><title>Welcome</title>", K.WEB_PAGE),
)
