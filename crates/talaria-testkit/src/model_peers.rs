//! Programs of others that speak to models, or as models: the SDKs of OpenAI and Anthropic, the mock server aimock, and the
//! server of llama.cpp with a model of random weights.
//!
//! The SDKs judge our scripted model as clients; the servers judge our own client as peers that we did not write. Installed
//! once below the build directory, like Codex; after that no network is needed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::build_dir;
use crate::install::{self, Wanted};

/// The versions of the SDKs for Python.
const OPENAI: &str = "2.54.0";
const ANTHROPIC: &str = "2.8.0";
/// The version of aimock.
const AIMOCK: &str = "1.43.0";

/// The versions of the bindings of llama.cpp, which bring its server, and of the writer of model files.
const XLLAMACPP: &str = "2026.10.11549";
const GGUF: &str = "0.19.0";
/// The program that writes the model and serves it.
const LLAMA: &str = include_str!("model_peers/llama.py");

/// Returns a Python that has both SDKs (PyPI `openai`, `anthropic`).
pub fn python() -> PathBuf {
    installed(install_sdks(&root(), |_| {}))
}

/// Returns aimock's program (npm `@copilotkit/aimock`), to be run with `node`.
pub fn aimock() -> PathBuf {
    installed(install_aimock(&root(), |_| {}))
}

/// A running aimock on loopback; it ends when dropped.
pub struct Aimock {
    address: SocketAddr,
    _child: Child,
    _fixtures: TempDir,
}

impl Aimock {
    /// Starts it with these fixtures and waits until it accepts connections.
    pub async fn start(fixtures: &Value) -> Self {
        match Self::spawn(fixtures).await {
            Ok(server) => server,
            Err(cause) => panic!("cannot start aimock: {cause:#}"),
        }
    }

    async fn spawn(fixtures: &Value) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("fixtures.json");
        std::fs::write(&file, fixtures.to_string())?;
        // It cannot say which port it chose, so the port is chosen here.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let child = Command::new("node")
            .arg(aimock())
            .args(["--host", "127.0.0.1", "--log-level", "warn", "--port", &address.port().to_string()])
            .arg("--fixtures")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        crate::until("aimock listens", || std::net::TcpStream::connect(address).is_ok()).await;
        Ok(Self { address, _child: child, _fixtures: folder })
    }

    /// The base URL of its APIs.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests that it had, in order, with bodies in the shape of Chat Completions.
    pub async fn journal(&self) -> Result<Vec<Value>> {
        let mut stream = TcpStream::connect(self.address).await?;
        // In this version of HTTP a body is not sent in pieces.
        let request = format!("GET /__aimock/journal HTTP/1.0\r\nhost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        let start = answer.find("\r\n\r\n").context("no body")?;
        Ok(serde_json::from_str(&answer[start..])?)
    }
}

/// A running server of llama.cpp on loopback; it ends when dropped. Its model has random weights: what it says has no
/// meaning, but it counts real tokens, refuses what does not fit and caches real prefixes.
pub struct LlamaServer {
    address: String,
    _child: Child,
    _folder: TempDir,
}

impl LlamaServer {
    /// Starts it with room for this many tokens and waits until it listens.
    pub async fn start(context: u32) -> Self {
        match Self::spawn(context).await {
            Ok(server) => server,
            Err(cause) => panic!("cannot start the server of llama.cpp: {cause:#}"),
        }
    }

    async fn spawn(context: u32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("llama.py");
        std::fs::write(&program, LLAMA)?;
        let mut child = Command::new(installed(install_llama(&root(), |_| {})))
            .arg(&program)
            .arg(folder.path())
            .arg(context.to_string())
            // It ends when this pipe does.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("it has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let address = lines.next_line().await?.context("it ended before it listened")?;
        ensure!(address.starts_with("http://127.0.0.1:"), "it listens elsewhere: {address}");
        Ok(Self { address, _child: child, _folder: folder })
    }

    /// The base URL of its APIs.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.address)
    }
}

/// Installs all of them below the build directory; `progress` gets a line for each step.
pub fn install(mut progress: impl FnMut(&str)) -> Result<()> {
    install_sdks(&root(), &mut progress)?;
    install_aimock(&root(), &mut progress)?;
    install_llama(&root(), &mut progress)?;
    Ok(())
}

fn install_sdks(root: &Path, progress: impl FnMut(&str)) -> Result<PathBuf> {
    let packages = [format!("openai=={OPENAI}"), format!("anthropic=={ANTHROPIC}")];
    let title = format!("Python SDKs of OpenAI {OPENAI} and Anthropic {ANTHROPIC}");
    let folder = format!("python-{OPENAI}-{ANTHROPIC}");
    let how = format!("pip install {}", packages.join(" "));
    let wanted = Wanted { title: &title, folder: &folder, how: &how };
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let folder = install::once(&wanted, root, progress, |folder| install::pip(&packages, folder))?;
    Ok(folder.join("bin/python"))
}

fn install_llama(root: &Path, progress: impl FnMut(&str)) -> Result<PathBuf> {
    let packages = [format!("xllamacpp=={XLLAMACPP}"), format!("gguf=={GGUF}")];
    let title = format!("the server of llama.cpp (xllamacpp {XLLAMACPP})");
    let folder = format!("llama-{XLLAMACPP}-{GGUF}");
    let how = format!("pip install {}", packages.join(" "));
    let wanted = Wanted { title: &title, folder: &folder, how: &how };
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let folder = install::once(&wanted, root, progress, |folder| install::pip(&packages, folder))?;
    Ok(folder.join("bin/python"))
}

fn install_aimock(root: &Path, progress: impl FnMut(&str)) -> Result<PathBuf> {
    let package = format!("@copilotkit/aimock@{AIMOCK}");
    let (title, folder) = (format!("aimock {AIMOCK}"), format!("aimock-{AIMOCK}"));
    let wanted = Wanted { title: &title, folder: &folder, how: &format!("npm install {package}") };
    let folder = install::once(&wanted, root, progress, |folder| install::npm(&package, folder))?;
    let program = folder.join("node_modules/.bin/llmock");
    ensure!(program.is_file(), "no program at {}", program.display());
    Ok(program)
}

fn root() -> PathBuf {
    build_dir::root().join("model-peers")
}

fn installed(result: Result<PathBuf>) -> PathBuf {
    match result {
        Ok(path) => path,
        Err(cause) => panic!("cannot install a peer of the model loop: {cause:#}"),
    }
}
