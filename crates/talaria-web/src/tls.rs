//! TLS of outgoing connections: which certificates are trusted, and the settings of a connection.
//!
//! The system's certificates, so that a company's own authority works and `SSL_CERT_FILE` is honoured; tests use their
//! own. The cryptography is ring's, named here, so that no process-wide choice is needed.

use std::sync::{Arc, OnceLock};

use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Which certificates are trusted.
#[derive(Clone, Debug)]
pub enum Roots {
    /// Those of the system.
    System,
    /// These alone, as DER.
    Only(Vec<Vec<u8>>),
}

/// Why there are no settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsSettingsError {
    /// There are no certificates to trust.
    #[error("the system has no certificates to trust: install ca-certificates or set SSL_CERT_FILE")]
    NoRoots,
    /// The cryptography lacks what TLS needs.
    #[error("TLS: {0}")]
    Provider(String),
}

/// The settings of connections, made when the first one needs them.
#[derive(Debug)]
pub struct Tls {
    roots: Roots,
    made: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts these.
    pub fn new(roots: Roots) -> Self {
        Self { roots, made: OnceLock::new() }
    }

    /// Returns the settings; reading the system's certificates may take milliseconds.
    pub fn settings(&self) -> Result<Arc<ClientConfig>, TlsSettingsError> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let mut store = RootCertStore::empty();
        match &self.roots {
            Roots::System => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Roots::Only(certificates) => {
                store.add_parsable_certificates(certificates.iter().cloned().map(CertificateDer::from));
            }
        }
        if store.is_empty() {
            return Err(TlsSettingsError::NoRoots);
        }
        let made = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|why| TlsSettingsError::Provider(why.to_string()))?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(self.made.get_or_init(|| Arc::new(made)).clone())
    }
}
