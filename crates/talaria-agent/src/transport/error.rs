//! Why there is no response, or no more of it: how far the request got, and what broke.

use std::error::Error;
use std::io;

use talaria_web::TlsSettingsError;
use tokio_rustls::rustls;

use crate::failure::{FailureClass, ModelFailure};

/// How far a request got. What may be repeated depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransportStage {
    /// No byte of the request was written.
    NotSent,
    /// The request was written, at least in part, and there is no status.
    Sent,
    /// The status arrived, and the body did not arrive whole.
    Body,
}

/// What broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransportCause {
    /// The address or a header cannot be used.
    Address,
    /// The host is not found.
    Resolve,
    /// The host is not reached.
    Connect,
    /// The proxy is not reached, or refused.
    Proxy,
    /// The certificate of the server is not trusted.
    Certificate,
    /// TLS failed for another reason.
    Tls,
    /// A limit of time was reached.
    TimedOut,
    /// The server closed the connection.
    Closed,
    /// The peer does not speak HTTP.
    Protocol,
    /// The response is over its limit.
    TooLarge,
}

/// A failed exchange.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct TransportError {
    /// How far the request got.
    pub stage: TransportStage,
    /// What broke.
    pub cause: TransportCause,
    /// The same for people. It contains no key and no password of a proxy.
    pub text: String,
}

impl TransportError {
    pub(super) fn not_sent(cause: TransportCause, text: impl Into<String>) -> Self {
        Self { stage: TransportStage::NotSent, cause, text: text.into() }
    }

    /// The error as a failure of the attempt.
    pub fn to_failure(&self) -> ModelFailure {
        let class = match self.cause {
            TransportCause::Certificate => FailureClass::Certificate,
            _ => FailureClass::Transport,
        };
        ModelFailure::transport(class, self.text.clone())
    }

    pub(super) fn broken(stage: TransportStage, error: &hyper::Error) -> Self {
        let (cause, text) = match tls_error(error) {
            Some(tls) => classify_tls(tls),
            None if error.is_parse() => {
                (TransportCause::Protocol, format!("the server does not speak HTTP: {error}"))
            }
            None => (TransportCause::Closed, format!("the connection broke: {}", innermost(error))),
        };
        Self { stage, cause, text }
    }

    pub(super) fn tls(error: &io::Error) -> Self {
        let (cause, text) = match tls_error(error) {
            Some(tls) => classify_tls(tls),
            None => (TransportCause::Tls, format!("the connection broke during TLS: {error}")),
        };
        Self::not_sent(cause, text)
    }
}

impl From<TlsSettingsError> for TransportError {
    fn from(error: TlsSettingsError) -> Self {
        let cause = match error {
            TlsSettingsError::NoRoots => TransportCause::Certificate,
            TlsSettingsError::Provider(_) => TransportCause::Tls,
        };
        Self::not_sent(cause, error.to_string())
    }
}

fn classify_tls(error: &rustls::Error) -> (TransportCause, String) {
    match error {
        rustls::Error::InvalidCertificate(why) => {
            let text = match why {
                rustls::CertificateError::UnknownIssuer => {
                    "the certificate of the server is not trusted: its issuer is unknown".to_owned()
                }
                rustls::CertificateError::Expired | rustls::CertificateError::ExpiredContext { .. } => {
                    "the certificate of the server has expired".to_owned()
                }
                rustls::CertificateError::NotValidForName
                | rustls::CertificateError::NotValidForNameContext { .. } => {
                    "the certificate of the server is for another name".to_owned()
                }
                other => format!("the certificate of the server is not trusted: {other}"),
            };
            (TransportCause::Certificate, text)
        }
        other => (TransportCause::Tls, format!("TLS failed: {other}")),
    }
}

fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        // An I/O error has the error that it wraps as `get_ref`, and only that one's cause as `source`.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(tls) = wrapped.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(tls);
        }
        next = error.source();
    }
    None
}

fn innermost(error: &dyn Error) -> String {
    let mut last = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        last = error.to_string();
        next = error.source();
    }
    last
}
