//! A mailbox: plain text over SMTP, to the server that the configuration names.
//!
//! The user configures the server, so its address is not checked. The message id is derived from the outbox entry and
//! is the same in every attempt: a mail program shows a repeat once.

use std::time::Duration;

use futures_util::future::BoxFuture;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{
    Certificate, CertificateStore, Tls, TlsParameters, TlsParametersBuilder,
};
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use sha2::{Digest, Sha256};
use talaria_core::config::{MailSecurity, NotifyConfig};
use talaria_core::notice::Mailbox;

use super::secret::Secrets;
use super::{Deliver, NotifyError, Parcel, Receipt};
use talaria_web::Roots;

/// The way to one mailbox.
#[derive(Debug)]
pub(super) struct Email<'a> {
    to: &'a Mailbox,
    from: &'a Mailbox,
    transport: AsyncSmtpTransport<Tokio1Executor>,
    limit: Duration,
}

impl<'a> Email<'a> {
    pub(super) fn new(
        to: &'a Mailbox,
        config: &'a NotifyConfig,
        secrets: &Secrets,
        roots: &Roots,
        limit: Duration,
    ) -> Result<Self, NotifyError> {
        let (Some(server), Some(from)) = (&config.email_server, &config.email_from) else {
            return Err(NotifyError::passing("the mail server or the sender is not configured"));
        };
        let tls = match server.security {
            MailSecurity::Plain => Tls::None,
            MailSecurity::StartTls => Tls::Required(mail_tls(roots, &server.host)?),
            MailSecurity::Tls => Tls::Wrapper(mail_tls(roots, &server.host)?),
        };
        let mut builder =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host).port(server.port).tls(tls);
        if let (Some(user), Some(password)) = (&config.email_user, secrets.find(&config.email_password)?) {
            builder = builder.credentials(Credentials::new(user.clone(), password.expose().to_owned()));
        }
        Ok(Self { to, from, transport: builder.timeout(Some(limit)).build(), limit })
    }

    fn message(&self, parcel: &Parcel) -> Result<Message, NotifyError> {
        let address = |mailbox: &Mailbox| {
            mailbox.as_str().parse().map_err(|_| NotifyError::permanent("the mail address cannot be used"))
        };
        let automatic =
            HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned());
        Message::builder()
            .from(address(self.from)?)
            .to(address(self.to)?)
            .subject(parcel.notice.subject())
            .message_id(Some(message_id(&parcel.id, self.from)))
            .raw_header(automatic)
            .header(ContentType::TEXT_PLAIN)
            .body(format!("{}\n", parcel.notice.text()))
            .map_err(|why| NotifyError::permanent(format!("the mail cannot be written: {why}")))
    }
}

impl Deliver for Email<'_> {
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Receipt, NotifyError>> {
        Box::pin(async move {
            let message = self.message(parcel)?;
            // The limit of the transport is for connecting; a server that then falls silent is ours to leave.
            let sent = tokio::time::timeout(self.limit, self.transport.send(message)).await;
            match sent {
                Err(_) => Err(NotifyError::passing("the mail server does not answer in time")),
                Ok(Ok(response)) => Ok(Receipt { note: format!("SMTP {}", response.code()) }),
                Ok(Err(why)) if why.is_permanent() => Err(NotifyError::permanent(error_text(&why))),
                Ok(Err(why)) => Err(NotifyError::passing(error_text(&why))),
            }
        })
    }
}

fn error_text(error: &lettre::transport::smtp::Error) -> String {
    format!("the mail server: {error}")
}

fn message_id(id: &str, from: &Mailbox) -> String {
    let digest = hex::encode(&Sha256::digest(id.as_bytes())[..16]);
    let domain = from.as_str().rsplit('@').next().unwrap_or("localhost");
    format!("<talaria-{digest}@{domain}>")
}

/// The certificates trusted for a mail server called `host`.
fn mail_tls(roots: &Roots, host: &str) -> Result<TlsParameters, NotifyError> {
    let failed = |why: lettre::transport::smtp::Error| NotifyError::passing(format!("TLS: {why}"));
    let mut builder = TlsParametersBuilder::new(host.to_owned());
    if let Roots::Only(certificates) = roots {
        builder = builder.certificate_store(CertificateStore::None);
        for certificate in certificates {
            builder =
                builder.add_root_certificate(Certificate::from_der(certificate.clone()).map_err(failed)?);
        }
    }
    builder.build().map_err(failed)
}
