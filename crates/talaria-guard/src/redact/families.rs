//! The table of secrets that are recognised by their own shape: a prefix and what follows it.
//!
//! This is the place to add a family: one line here, and a line in `corpus/secrets.txt` that shows it. Names that make
//! a value secret (`password = …`) are in `names.rs`. The first line that matches wins, so a longer prefix precedes the
//! shorter one that it begins with. Data only; `token.rs` reads it.

use super::bytes::{ALNUM, BASE64URL, DIGIT, HEX, IDENT, PERCENT, SLASH, Set, UPPER, WORD};

/// Secrets with a common beginning.
#[derive(Debug)]
pub(super) struct Family {
    /// Its kind in the marker. Lower-case letters and dashes.
    pub(super) kind: &'static str,
    /// How it begins: at least three bytes, at the beginning of a word.
    pub(super) prefix: &'static str,
    /// What follows the prefix.
    pub(super) body: Set,
    /// How much of it there must be after the prefix.
    pub(super) least: usize,
    /// Further condition.
    pub(super) shape: Shape,
}

/// Condition on the text after a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nothing: no ordinary word begins like this.
    Any,
    /// It does not read like words: a part between dashes, dots and underscores has eight letters with a digit, or
    /// sixteen letters.
    Dense,
    /// It has exactly the least length.
    Exact,
    /// It begins with a small letter.
    Lower,
    /// It is no secret, and the lines below are not asked.
    Never,
    /// A dot follows after the least length or later, and at least as much after the dot.
    TwoParts,
}

use Shape::{Any, Dense, Exact, Lower, Never, TwoParts};

const fn family(kind: &'static str, prefix: &'static str, body: Set, least: usize, shape: Shape) -> Family {
    Family { kind, prefix, body, least, shape }
}

/// Kinds of secrets that other rules find.
pub(super) const KINDS: &[&str] = &[
    "authorization",
    "aws-secret-key",
    "azure-client-secret",
    "azure-key",
    "bearer-token",
    "cookie",
    "credential",
    "discord-mention",
    "discord-token",
    "encoded-secret",
    "jwt",
    "key",
    "password",
    "phone",
    "private-key",
    "secret",
    "seed-phrase",
    "signature",
    "telegram-token",
    "token",
    "url-credential",
    "url-password",
];

const CAPITALS: Set = UPPER.and(DIGIT);
const PATH: Set = BASE64URL.and(SLASH);

/// Every family.
#[rustfmt::skip]
pub(super) const FAMILIES: &[Family] = &[
    // Models and their providers
    family("anthropic-key", "sk-ant-", BASE64URL, 16, Any),
    family("openrouter-key", "sk-or-v1-", ALNUM, 16, Any),
    family("openai-key", "sk-proj-", BASE64URL, 16, Dense),
    family("openai-key", "sk-svcacct-", BASE64URL, 16, Dense),
    family("openai-key", "sk-admin-", BASE64URL, 16, Dense),
    family("openai-key", "sk-None-", BASE64URL, 16, Any),
    family("", "sk-ecdsa-sha2-", BASE64URL, 0, Never), // a kind of keys of SSH
    family("openai-key", "sk-", BASE64URL, 16, Dense),
    family("xai-key", "xai-", BASE64URL, 20, Dense),
    family("huggingface-token", "hf_", ALNUM, 30, Any),
    family("huggingface-token", "api_org_", ALNUM, 20, Any),
    family("groq-key", "gsk_", ALNUM, 20, Any),
    family("perplexity-key", "pplx-", ALNUM, 20, Any),
    family("replicate-token", "r8_", ALNUM, 30, Any),
    family("cerebras-key", "csk-", ALNUM, 20, Dense),
    family("fal-key", "fal_", IDENT, 20, Dense),
    family("elevenlabs-key", "sk_", ALNUM, 32, Dense),
    family("tavily-key", "tvly-", BASE64URL, 16, Dense),
    family("exa-key", "exa_", ALNUM, 20, Dense),
    family("firecrawl-key", "fc-", ALNUM, 32, Dense),
    family("browserbase-key", "bb_live_", BASE64URL, 16, Any),
    family("agentmail-key", "am_", ALNUM, 24, Dense),
    family("hyperspell-key", "hsk-", BASE64URL, 16, Dense),
    family("memzero-key", "mem0_", ALNUM, 20, Any),
    family("byterover-key", "brv_", IDENT, 20, Dense),
    family("retaindb-key", "retaindb_", IDENT, 16, Dense),
    // Code hosts and package registries
    family("github-token", "ghp_", IDENT, 16, Dense),
    family("github-token", "gho_", IDENT, 16, Dense),
    family("github-token", "ghu_", IDENT, 16, Dense),
    family("github-token", "ghs_", WORD, 16, Dense),
    family("github-token", "ghr_", IDENT, 16, Dense),
    family("github-token", "github_pat_", IDENT, 16, Dense),
    family("gitlab-token", "glpat-", WORD, 16, Dense),
    family("gitlab-token", "gldt-", WORD, 16, Dense),
    family("gitlab-token", "glrt-", WORD, 16, Dense),
    family("gitlab-token", "glrtr-", WORD, 16, Dense),
    family("gitlab-token", "glcbt-", WORD, 16, Dense),
    family("gitlab-token", "glptt-", WORD, 16, Dense),
    family("gitlab-token", "glft-", WORD, 16, Dense),
    family("gitlab-token", "glsoat-", WORD, 16, Dense),
    family("gitlab-token", "glimt-", WORD, 16, Dense),
    family("gitlab-token", "glagent-", WORD, 16, Dense),
    family("gitlab-token", "glwt-", WORD, 16, Dense),
    family("gitlab-token", "glffct-", WORD, 16, Dense),
    family("gitlab-token", "gloas-", WORD, 16, Dense),
    family("gitlab-token", "GR1348941", BASE64URL, 16, Any),
    family("bitbucket-token", "ATBB", ALNUM, 24, Dense),
    family("atlassian-token", "ATATT3", BASE64URL, 32, Any),
    family("npm-token", "npm_", ALNUM, 30, Any),
    family("pypi-token", "pypi-", BASE64URL, 32, Dense),
    family("rubygems-key", "rubygems_", ALNUM, 32, Any),
    family("docker-token", "dckr_pat_", BASE64URL, 16, Any),
    family("docker-token", "dckr_oat_", BASE64URL, 16, Any),
    // Chat and mail
    family("slack-token", "xoxe.xox", WORD, 16, Any),
    family("slack-token", "xoxa-", BASE64URL, 10, Any),
    family("slack-token", "xoxb-", BASE64URL, 10, Any),
    family("slack-token", "xoxc-", BASE64URL, 10, Any),
    family("slack-token", "xoxd-", BASE64URL.and(PERCENT), 10, Any),
    family("slack-token", "xoxe-", BASE64URL, 10, Any),
    family("slack-token", "xoxo-", BASE64URL, 10, Any),
    family("slack-token", "xoxp-", BASE64URL, 10, Any),
    family("slack-token", "xoxr-", BASE64URL, 10, Any),
    family("slack-token", "xoxs-", BASE64URL, 10, Any),
    family("slack-token", "xapp-", BASE64URL, 10, Dense),
    family("slack-webhook", "hooks.slack.com/services/", PATH, 16, Any),
    family("slack-webhook", "hooks.slack.com/triggers/", PATH, 16, Any),
    family("slack-webhook", "hooks.slack.com/workflows/", PATH, 16, Any),
    family("discord-webhook", "discord.com/api/webhooks/", PATH, 24, Any),
    family("discord-webhook", "discordapp.com/api/webhooks/", PATH, 24, Any),
    family("matrix-token", "syt_", IDENT, 20, Dense),
    family("sendgrid-key", "SG.", BASE64URL, 16, TwoParts),
    family("twilio-key", "SK0", HEX, 31, Exact),
    family("twilio-key", "SK1", HEX, 31, Exact),
    family("twilio-key", "SK2", HEX, 31, Exact),
    family("twilio-key", "SK3", HEX, 31, Exact),
    family("twilio-key", "SK4", HEX, 31, Exact),
    family("twilio-key", "SK5", HEX, 31, Exact),
    family("twilio-key", "SK6", HEX, 31, Exact),
    family("twilio-key", "SK7", HEX, 31, Exact),
    family("twilio-key", "SK8", HEX, 31, Exact),
    family("twilio-key", "SK9", HEX, 31, Exact),
    family("twilio-key", "SKa", HEX, 31, Exact),
    family("twilio-key", "SKb", HEX, 31, Exact),
    family("twilio-key", "SKc", HEX, 31, Exact),
    family("twilio-key", "SKd", HEX, 31, Exact),
    family("twilio-key", "SKe", HEX, 31, Exact),
    family("twilio-key", "SKf", HEX, 31, Exact),
    // Clouds
    family("aws-key-id", "AKIA", CAPITALS, 16, Exact),
    family("aws-key-id", "ASIA", CAPITALS, 16, Exact),
    family("aws-key-id", "ABIA", CAPITALS, 16, Exact),
    family("aws-key-id", "ACCA", CAPITALS, 16, Exact),
    family("google-key", "AIza", BASE64URL, 30, Any),
    family("google-token", "ya29.", WORD, 16, Any),
    family("google-secret", "GOCSPX-", BASE64URL, 16, Any),
    family("google-token", "1//0", BASE64URL, 60, Dense),
    family("digitalocean-token", "dop_v1_", ALNUM, 16, Any),
    family("digitalocean-token", "doo_v1_", ALNUM, 16, Any),
    family("digitalocean-token", "dor_v1_", ALNUM, 16, Any),
    family("databricks-token", "dapi", ALNUM, 32, Dense),
    family("fly-token", "fm2_", BASE64URL, 32, Dense),
    family("fly-token", "fo1_", BASE64URL, 32, Dense),
    family("heroku-key", "HRKU-", BASE64URL, 32, Dense),
    family("netlify-token", "nfp_", ALNUM, 32, Any),
    family("supabase-key", "sbp_", ALNUM, 32, Any),
    family("supabase-key", "sb_secret_", BASE64URL, 16, Dense),
    family("planetscale-token", "pscale_tkn_", WORD, 16, Dense),
    family("planetscale-token", "pscale_pw_", WORD, 16, Dense),
    family("planetscale-token", "pscale_oauth_", WORD, 16, Dense),
    family("tailscale-key", "tskey-", BASE64URL, 16, Dense),
    family("vault-token", "hvs.", BASE64URL, 20, Dense),
    family("vault-token", "hvb.", BASE64URL, 20, Dense),
    family("doppler-token", "dp.pt.", ALNUM, 20, Any),
    family("doppler-token", "dp.st.", WORD, 20, Dense),
    family("age-key", "AGE-SECRET-KEY-1", CAPITALS, 32, Any),
    // Money
    family("stripe-key", "sk_live_", ALNUM, 10, Any),
    family("stripe-key", "sk_test_", ALNUM, 10, Any),
    family("stripe-key", "rk_live_", ALNUM, 10, Any),
    family("stripe-key", "rk_test_", ALNUM, 10, Any),
    family("stripe-key", "whsec_", BASE64URL, 16, Any),
    family("square-token", "sq0atp-", BASE64URL, 16, Any),
    family("square-token", "sq0csp-", BASE64URL, 16, Any),
    family("shopify-token", "shpat_", ALNUM, 20, Any),
    family("shopify-token", "shpca_", ALNUM, 20, Any),
    family("shopify-token", "shppa_", ALNUM, 20, Any),
    family("shopify-token", "shpss_", ALNUM, 20, Any),
    // Tools
    family("linear-key", "lin_api_", ALNUM, 20, Any),
    family("notion-token", "ntn_", ALNUM, 32, Dense),
    family("notion-token", "secret_", ALNUM, 40, Dense),
    family("figma-token", "figd_", BASE64URL, 20, Dense),
    family("postman-key", "PMAK-", BASE64URL, 32, Dense),
    family("newrelic-key", "NRAK-", ALNUM, 20, Any),
    family("sentry-token", "sntrys_", BASE64URL, 32, Any),
    family("sentry-token", "sntryu_", ALNUM, 32, Any),
    family("grafana-token", "glsa_", IDENT, 32, Dense),
    family("grafana-token", "glc_", ALNUM, 32, Dense),
    family("onepassword-token", "ops_eyJ", BASE64URL, 32, Any),
    // What Fernet makes: zeros, then a date, which is a small letter from 2021 on
    family("fernet-token", "gAAAAAB", BASE64URL, 40, Lower),
];
