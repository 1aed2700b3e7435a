//! An encrypted connection, against a server that speaks TLS and refuses every login.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::at::idem;

/// What a PostgreSQL client sends to ask for TLS.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Accepts connections, and sends what each client says under TLS.
async fn server(
    certificate: CertifiedKey<rcgen::KeyPair>,
) -> (SocketAddr, std::sync::mpsc::Receiver<Vec<u8>>) {
    let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (said, hears) = std::sync::mpsc::channel();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut request = [0; 8];
            client.read_exact(&mut request).await.unwrap();
            assert_eq!(request, SSL_REQUEST, "the client asks for TLS before it says anything");
            client.write_all(b"S").await.unwrap();
            let Ok(mut client) = acceptor.accept(client).await else { continue };
            let length = client.read_u32().await.unwrap() as usize - 4;
            let mut startup = vec![0; length];
            client.read_exact(&mut startup).await.unwrap();
            said.send(startup).unwrap();
            let fields = b"SFATAL\0VFATAL\0C28P01\0Mno entry\0\0";
            client.write_u8(b'E').await.unwrap();
            client.write_u32(u32::try_from(fields.len()).unwrap() + 4).await.unwrap();
            client.write_all(fields).await.unwrap();
            client.shutdown().await.unwrap();
        }
    });
    (address, hears)
}

fn root(folder: &Path, certificate: &CertifiedKey<rcgen::KeyPair>) -> String {
    let path = folder.join("root.pem");
    std::fs::write(&path, certificate.cert.pem()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_only_speaks_tls_is_reached_and_its_certificate_checked() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let root = root(folder.path(), &certificate);
    let (address, hears) = server(certificate).await;
    let url = format!(
        "postgres://ann:s3cret@localhost:{}/shop?sslmode=verify-full&sslrootcert={root}",
        address.port()
    );
    let ran = idem(&url, &["stats"]).ended(2);
    assert!(ran.err().contains("no entry"), "{}", ran.err());
    let startup = hears.try_recv().unwrap();
    assert!(startup.windows(3).any(|word| word == b"ann"), "the login goes through TLS");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_certificate_of_somebody_else_hears_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trusted = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let root = root(folder.path(), &trusted);
    let (address, hears) = server(generate_simple_self_signed(["localhost".to_owned()]).unwrap()).await;
    let url = format!(
        "postgres://ann:s3cret@localhost:{}/shop?sslmode=verify-full&sslrootcert={root}",
        address.port()
    );
    let ran = idem(&url, &["stats"]).ended(2);
    assert!(ran.err().contains("certificate"), "{}", ran.err());
    assert!(hears.try_recv().is_err(), "nothing was said to it");
}
