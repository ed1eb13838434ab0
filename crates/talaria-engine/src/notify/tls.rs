//! TLS for whoever sends: which certificates are trusted, and the settings of a connection.
//!
//! The system's certificates, so that a company's own authority works and `SSL_CERT_FILE` is heard; tests bring their
//! own. The cryptography is ring's, named here, so that no process-wide choice is needed.

use std::sync::{Arc, OnceLock};

use lettre::transport::smtp::client::{Certificate, CertificateStore, TlsParameters, TlsParametersBuilder};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::NotifyError;

/// Which certificates are trusted.
#[derive(Clone, Debug)]
pub enum Roots {
    /// Those of the system.
    System,
    /// These alone, as DER.
    Only(Vec<Vec<u8>>),
}

/// The settings of connections, made when the first one needs them.
#[derive(Debug)]
pub(super) struct Tls {
    roots: Roots,
    made: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    pub(super) fn new(roots: Roots) -> Self {
        Self { roots, made: OnceLock::new() }
    }

    /// Gives the settings; reading the system's certificates may take milliseconds.
    pub(super) fn settings(&self) -> Result<Arc<ClientConfig>, NotifyError> {
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
            return Err(NotifyError::passing(
                "the system has no certificates to trust: install ca-certificates or set SSL_CERT_FILE",
            ));
        }
        let made = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|why| NotifyError::permanent(format!("TLS: {why}")))?
            .with_root_certificates(store)
            .with_no_client_auth();
        Ok(self.made.get_or_init(|| Arc::new(made)).clone())
    }
}

impl Roots {
    /// Gives the same for a mail server called `host`.
    pub(super) fn for_mail(&self, host: &str) -> Result<TlsParameters, NotifyError> {
        let failed = |why: lettre::transport::smtp::Error| NotifyError::passing(format!("TLS: {why}"));
        let mut builder = TlsParametersBuilder::new(host.to_owned());
        if let Self::Only(certificates) = self {
            builder = builder.certificate_store(CertificateStore::None);
            for certificate in certificates {
                builder =
                    builder.add_root_certificate(Certificate::from_der(certificate.clone()).map_err(failed)?);
            }
        }
        builder.build().map_err(failed)
    }
}
