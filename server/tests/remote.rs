//! What is behind a URL says what the same files on disk say; and what is said where it cannot be read.

#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

mod object_server;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object_server::{KEY_ID, Manner, ObjectServer};

const TRACE: &str = "simulated_cuda/torch2.15.0/slow_model.json.gz";
const SNAPSHOT: &str = "simulated_snapshots/torch2.15.0/slow_model.snapshot.pickle.gz";
const RANKS: &str = "cpu/torch2.15.0/late_rank.slow_line/";
const HANG: &str = "flight_recorder/late/";
const SECRET: &str = "thesecretkeyofthetest";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").canonicalize().unwrap()
}

/// Buckets of all manners, each with all fixtures.
fn server() -> ObjectServer {
    let folder = fixtures();
    ObjectServer::start(&[
        ("traces", &folder, Manner::Private),
        ("public", &folder, Manner::Public),
        ("unlisted", &folder, Manner::Unlisted),
        ("cut", &folder, Manner::Cut),
        ("whole", &folder, Manner::Whole),
        ("signed", &folder, Manner::Signed),
    ])
}

/// `perfline` in the folder of the fixtures, without what the environment of the test says.
fn perfline(command: &str, inputs: &[&str], options: &[&str]) -> Command {
    let workloads = fixtures().join("workloads");
    let mut perfline = Command::new(env!("CARGO_BIN_EXE_perfline"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().to_uppercase();
        let says = ["AWS_", "GOOGLE_", "AZURE_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
        if says.iter().any(|it| name.starts_with(it)) {
            perfline.env_remove(&name).env_remove(name.to_lowercase());
        }
    }
    perfline
        .current_dir(fixtures())
        .arg(command)
        .args(inputs)
        .args(options)
        .env("PERFLINE_CACHE_DIR", "")
        .env("HOME", workloads.join("nobody"))
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .stdin(Stdio::null());
    if !["list", "hang"].contains(&command) {
        perfline.args(["--root", workloads.to_str().unwrap()]);
        perfline.args(["--site", workloads.to_str().unwrap()]);
    }
    perfline
}

fn with_key(mut command: Command, server: &ObjectServer) -> Command {
    command
        .env("AWS_ENDPOINT_URL", &server.address)
        .env("AWS_REGION", "eu-central-1")
        .env("AWS_ACCESS_KEY_ID", KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

/// Exit status, stdout, stderr.
fn run(mut command: Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |it| String::from_utf8(it).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(!format!("{out}{err}").contains(SECRET), "a secret is shown");
    (output.status.code(), out, err)
}

/// Runs a command on files, and on URLs that begin with `url`; both must say the same but for the names.
fn assert_same(server: &ObjectServer, url: &str, files: &[&str], command: &str, options: &[&str]) {
    let urls: Vec<String> = files.iter().map(|it| format!("{url}{it}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let here = run(perfline(command, files, options));
    let there = run(with_key(perfline(command, &urls, options), server));
    assert_eq!(here.0, Some(0), "{command} {files:?}: {}", here.2);
    assert_eq!(there.0, here.0, "{command} {urls:?}: {}", there.2);
    let without = |it: &str| it.replace(url, "");
    assert_eq!(without(&there.1), here.1, "{command} {urls:?}");
    assert_eq!(without(&there.2), here.2, "{command} {urls:?}");
}

#[test]
fn a_url_says_what_the_file_says() {
    let server = server();
    let commands: [(&str, &[&str]); 5] = [
        ("lines", &["--format", "json"]),
        ("report", &["--format", "json"]),
        ("report", &["--all"]),
        ("annotate", &[]),
        ("ranks", &["--format", "json"]),
    ];
    // Beside the first lies a side-car; the second is a run of ranks.
    for files in [&[TRACE, SNAPSHOT][..], &[RANKS]] {
        for (command, options) in commands {
            assert_same(&server, "s3://traces/", files, command, options);
        }
    }
    assert_same(&server, "s3://traces/", &[TRACE], "ops", &[]);
    assert_same(&server, "s3://traces/", &[HANG], "hang", &[]);
    assert!(server.take_requests().iter().all(|(it, _)| it.starts_with("GET /traces")));
    // Who may not list may read, what lies beside too.
    assert_same(&server, "s3://unlisted/", &[TRACE], "annotate", &[]);
    assert_same(&server, &format!("{}/public/", server.address), &[TRACE], "annotate", &[]);
}

#[test]
fn recordings_are_found_in_a_prefix() {
    let server = server();
    let list = |folder: &str, options: &[&str]| {
        let (code, out, err) = run(with_key(perfline("list", &[folder], options), &server));
        assert_eq!(code, Some(0), "{err}");
        out
    };
    let files = list("s3://traces/cpu/torch2.15.0/", &["--files"]).replace("s3://traces/", "");
    let sorted = |it: &str| {
        let mut lines: Vec<_> = it.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&files), sorted(&list("cpu/torch2.15.0/", &["--files"])));
    // Without `/` it is found out that it is no object.
    let shown = list("s3://traces/cpu/torch2.15.0/late_rank.slow_line", &[]);
    assert!(shown.contains("s3://traces/cpu/torch2.15.0/late_rank.slow_line/node_"), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.perfline");
    let options = ["--output", file.to_str().unwrap()];
    let url = format!("s3://traces/{RANKS}");
    let (code, _, err) = run(with_key(perfline("ledger", &[&url], &options), &server));
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains(&format!("reading {url}node_")) && err.contains("and 2 more of this run"),
        "{err}"
    );
    let (_, ledger, _) = run(perfline("lines", &[file.to_str().unwrap()], &[]));
    assert_eq!(ledger.replace("s3://traces/", ""), run(perfline("lines", &[RANKS], &[])).1);
}

#[test]
fn who_may_read_is_found_out_as_other_tools_do() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let aws = folder.path().join(".aws");
    fs::create_dir(&aws).unwrap();
    let credentials =
        format!("[team]\naws_access_key_id = {KEY_ID}\naws_secret_access_key = {SECRET}\n");
    fs::write(aws.join("credentials"), credentials).unwrap();
    let config = format!(
        "[profile team]\nregion = eu-central-1\nendpoint_url = {}\n[profile portal]\nsso_session = x\n",
        server.address
    );
    fs::write(aws.join("config"), config).unwrap();
    let url = format!("s3://traces/{TRACE}");
    let with_profile = |profile: &str| {
        let mut command = perfline("lines", &[&url], &[]);
        command.env("HOME", folder.path()).env("AWS_PROFILE", profile);
        run(command)
    };
    let (code, out, err) = with_profile("team");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(out.replace("s3://traces/", ""), run(perfline("lines", &[TRACE], &[])).1);
    for (profile, said) in [
        ("portal", "the AWS profile portal takes its credentials from elsewhere (sso_session)"),
        ("other", "AWS_PROFILE names other, and neither"),
    ] {
        let (code, _, err) = with_profile(profile);
        assert!(code == Some(2) && err.contains(said), "{err}");
    }
    // Without credentials, what is public can be read.
    let without = |url: &str| {
        let mut command = perfline("lines", &[url], &[]);
        command.env("AWS_ENDPOINT_URL", &server.address).env("AWS_REGION", "eu-central-1");
        run(command)
    };
    let (code, _, err) = without(&format!("s3://public/{TRACE}"));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let (code, _, err) = without(&url);
    let said =
        "access is denied (AccessDenied), and there are no credentials: set AWS_ACCESS_KEY_ID";
    assert!(code == Some(2) && err.contains(said) && err.contains(&url), "{err}");
    // Google's store answers in the same words.
    let mut command = perfline("lines", &[&format!("gs://public/{TRACE}")], &[]);
    command.env("GOOGLE_BASE_URL", &server.address).env("GOOGLE_SKIP_SIGNATURE", "true");
    let (code, _, err) = run(command);
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn what_cannot_be_read_says_why_and_takes_nothing_else_with_it() {
    let server = server();
    let refused = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/trace.json.gz", listener.local_addr().unwrap())
    };
    let http = format!("{}/signed/{TRACE}", server.address);
    for (url, said) in [
        ("s3://traces/missing.json.gz", "there is no such file or folder; check the path"),
        ("s3://traces/missing/", "there is no such file or folder; check the path"),
        ("s3://nowhere/trace.json.gz", "there is no such bucket"),
        ("s3://public/trace.json.gz", "access is denied (AccessDenied); check which credentials"),
        ("s3://public/runs/", "access is denied (AccessDenied); check which credentials"),
        (
            "az://traces/trace.json.gz",
            "no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME",
        ),
        (&refused, "the server cannot be reached (Connection refused"),
        (&http, "access is denied (AccessDenied); name a URL that needs no password"),
        ("s3://traces/README.md", "neither a torch.profiler trace"),
    ] {
        let command = perfline("lines", &[url, TRACE], &["--format", "csv"]);
        let (code, out, err) = run(with_key(command, &server));
        assert_eq!(code, Some(2), "{url}: {err}");
        assert!(err.contains(url) && err.contains(said), "{url}: {err}");
        assert!(!err.contains("a secret"), "{err}");
        assert_eq!(out, run(perfline("lines", &[TRACE], &["--format", "csv"])).1, "{url}");
    }
}

#[test]
fn a_transfer_that_breaks_off_counts_as_far_as_it_went() {
    let server = server();
    let mut command = perfline("lines", &[&format!("s3://cut/{TRACE}")], &["--format", "json"]);
    command.env("AWS_ENDPOINT_URL", &server.address).env("AWS_REGION", "eu-central-1");
    let (code, out, err) = run(command);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("reading the file failed"), "{err}");
    assert!(out.contains("\"complete\": false") && !out.contains("\"bytes\": 0"), "{out}");
}

#[test]
fn files_over_http_need_no_parts_and_their_signatures_are_not_shown() {
    let server = server();
    assert_same(&server, &format!("{}/whole/", server.address), &[TRACE], "lines", &[]);
    let url = format!("{}/signed/{TRACE}?signature=secret", server.address);
    let (code, out, err) = run(perfline("report", &[&url], &["--all"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(!out.contains("signature"), "{out}");
    let place = format!("{}/signed/", server.address);
    assert_eq!(out.replace(&place, ""), run(perfline("report", &[TRACE], &["--all"])).1);
    let (code, _, err) = run(perfline("lines", &[&place], &[]));
    assert!(code == Some(2) && err.contains("folders are not listed over HTTP"), "{err}");
}

#[test]
fn what_was_read_before_is_not_transferred_again() {
    let (server, cache) = (server(), tempfile::tempdir().unwrap());
    // Large enough to be kept.
    let url = "s3://traces/cpu/torch2.15.0/losses_of_time.json.gz";
    let mut transferred = Vec::new();
    for _ in 0..2 {
        let mut command = with_key(perfline("lines", &[url], &[]), &server);
        // A folder that it makes itself, closed to others.
        command.env("PERFLINE_CACHE_DIR", cache.path().join("perfline"));
        let (code, out, err) = run(command);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        let bytes: usize = server.take_requests().iter().map(|(_, bytes)| bytes).sum();
        transferred.push((bytes, out));
    }
    assert_eq!(transferred[0].1, transferred[1].1);
    assert!(500_000 < transferred[0].0 && transferred[1].0 < 150_000, "{transferred:?}");
}

#[test]
fn only_what_the_user_names_is_asked_for() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let budget = "[budget]\nstep = \"9 s\"\n[budget.baseline]\nrecording = \"s3://traces/x.json\"\nstep = \"3 %\"\n";
    let path = folder.path().join("perfline.toml");
    fs::write(&path, budget).unwrap();
    for budget in ["perfline.toml", path.to_str().unwrap()] {
        let mut command = with_key(perfline("check", &[TRACE], &["--budget", budget]), &server);
        let (code, _, err) = run({
            command.current_dir(folder.path());
            command
        });
        assert_eq!(code, Some(2), "{err}");
    }
    let mut command = with_key(perfline("report", &[TRACE], &["--watch"]), &server);
    command.args([format!("s3://traces/{TRACE}")]);
    let (code, _, err) = run(command);
    assert!(code == Some(2) && err.contains("--watch needs files on disk"), "{err}");
    assert_eq!(server.take_requests(), []);
}
