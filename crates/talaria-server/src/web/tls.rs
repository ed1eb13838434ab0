//! Reads certificate and key of the user. The key must be theirs alone.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::WebError;

/// Makes the acceptor of a certificate chain and its key.
pub(super) fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, WebError> {
    let failed = |path: &Path, why: String| WebError::Tls { path: path.to_owned(), why };
    let mode = std::fs::metadata(key).map_err(|error| failed(key, error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(failed(key, format!("others can read it (mode {:04o})", mode & 0o7777)));
    }
    let read = |path: &Path| -> Result<Vec<u8>, WebError> {
        std::fs::read(path).map_err(|error: io::Error| failed(path, error.to_string()))
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(cert)?).collect();
    let chain = chain.map_err(|error| failed(cert, error.to_string()))?;
    let secret =
        PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| failed(key, error.to_string()))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(cert, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(|error| failed(cert, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
