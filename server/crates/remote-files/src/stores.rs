//! Makes the store of a bucket, with the credentials that the user's other tools use.

use std::env;
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, resolve_bucket_region};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientOptions, RetryConfig};

use crate::aws_profile::AwsProfile;
use crate::store::{SharedClient, Store};
use crate::url::{FileUrl, Scheme};

/// How often a request that failed is sent again, and for how long: a server that is gone is noticed within seconds.
const MAX_RETRIES: usize = 3;
const RETRIED_FOR: Duration = Duration::from_secs(60);

/// How long to wait for the service that gives machines of a cloud their credentials. It is one network hop away, or not there.
const MACHINE_TIMEOUT: Duration = Duration::from_secs(1);

/// The store that a URL is in.
///
/// # Errors
/// If what the user configured contradicts itself. The message says so.
pub(crate) async fn store_of(url: &FileUrl, client: &SharedClient) -> Result<Store, String> {
    match url.scheme {
        Scheme::S3 => amazon(url, client).await,
        Scheme::GoogleCloud => google(url, client),
        Scheme::Azure => azure(url, client),
        Scheme::Http => http(url, client),
    }
}

fn retry() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: Duration::from_secs(2), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: MAX_RETRIES, retry_timeout: RETRIED_FOR }
}

async fn amazon(url: &FileUrl, client: &SharedClient) -> Result<Store, String> {
    use AmazonS3ConfigKey as Key;
    let mut builder = AmazonS3Builder::from_env()
        .with_bucket_name(url.bucket())
        .with_retry(retry())
        .with_http_connector(client.clone());
    let has = |builder: &AmazonS3Builder, key: Key| builder.get_config_value(&key).is_some();
    let has_own = has(&builder, Key::AccessKeyId) || has(&builder, Key::WebIdentityTokenFile);
    let is_unsigned = is_true(builder.get_config_value(&Key::SkipSignature));
    let profile = AwsProfile::of_user()?;
    if !has_own && !is_unsigned {
        if let Some(remedy) = profile.indirect() {
            return Err(remedy);
        }
        let keys = [
            ("aws_access_key_id", Key::AccessKeyId),
            ("aws_secret_access_key", Key::SecretAccessKey),
            ("aws_session_token", Key::Token),
        ];
        let names = keys.map(|(name, key)| (profile.get(name), key));
        let web_identity = [
            ("web_identity_token_file", Key::WebIdentityTokenFile),
            ("role_arn", Key::RoleArn),
            ("role_session_name", Key::RoleSessionName),
        ];
        let web_identity = web_identity.map(|(name, key)| (profile.get(name), key));
        let found = match (names[0].0, web_identity[0].0) {
            (_, Some(_)) => web_identity,
            _ => names,
        };
        for (value, key) in found {
            if let Some(value) = value {
                builder = builder.with_config(key, value);
            }
        }
    }
    if !has(&builder, Key::Region)
        && let Some(region) = profile.get("region")
    {
        builder = builder.with_region(region);
    }
    let endpoints = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
    let mut has_endpoint = endpoints.iter().any(|it| env::var_os(it).is_some());
    if !has_endpoint && let Some(endpoint) = profile.get("endpoint_url") {
        builder = builder.with_endpoint(endpoint);
        has_endpoint = true;
    }
    let is_anonymous = is_unsigned || {
        let has_some = [
            Key::AccessKeyId,
            Key::WebIdentityTokenFile,
            Key::ContainerCredentialsRelativeUri,
            Key::ContainerCredentialsFullUri,
            Key::MetadataEndpoint,
        ]
        .into_iter()
        .any(|key| has(&builder, key));
        let asks_machine = !is_true(env::var("AWS_EC2_METADATA_DISABLED").ok());
        !(has_some || asks_machine && is_machine_of_cloud())
    };
    if !has_endpoint && !has(&builder, Key::Region) {
        // Where it cannot be found out, the first request says what is wrong.
        if let Ok(region) = resolve_bucket_region(url.bucket(), &ClientOptions::new()).await {
            builder = builder.with_region(region);
        }
    }
    let objects = builder.with_skip_signature(is_anonymous).build().map_err(configured)?;
    Ok(Store { objects: Box::new(objects), scheme: url.scheme, is_anonymous })
}

fn google(url: &FileUrl, client: &SharedClient) -> Result<Store, String> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_bucket_name(url.bucket())
        .with_retry(retry())
        .with_http_connector(client.clone());
    let variables = [
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_BEARER_TOKEN",
        "SERVICE_ACCOUNT",
    ];
    let of_gcloud = if cfg!(windows) {
        env::var_os("APPDATA").map(|it| std::path::PathBuf::from(it).join("gcloud"))
    } else {
        env::home_dir().map(|it| it.join(".config/gcloud"))
    };
    let has_file =
        of_gcloud.is_some_and(|it| it.join("application_default_credentials.json").is_file());
    let is_anonymous = is_true(env::var("GOOGLE_SKIP_SIGNATURE").ok())
        || !(has_file || is_any_set(&variables) || is_machine_of_cloud());
    builder = builder.with_skip_signature(is_anonymous);
    let objects = builder.build().map_err(configured)?;
    Ok(Store { objects: Box::new(objects), scheme: url.scheme, is_anonymous })
}

fn azure(url: &FileUrl, client: &SharedClient) -> Result<Store, String> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_container_name(url.bucket())
        .with_retry(retry())
        .with_http_connector(client.clone());
    let mut is_configured = is_any_set(&[
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_MASTER_KEY",
        "AZURE_STORAGE_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
        "AZURE_STORAGE_CLIENT_SECRET",
        "AZURE_CLIENT_SECRET",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_USE_AZURE_CLI",
        "AZURE_STORAGE_USE_EMULATOR",
    ]);
    // Names that the tools of Azure use, and the library does not know.
    let known = [
        ("AZURE_STORAGE_ACCOUNT", AzureConfigKey::AccountName),
        ("AZURE_STORAGE_KEY", AzureConfigKey::AccessKey),
    ];
    for (name, key) in known {
        if let Ok(value) = env::var(name) {
            builder = builder.with_config(key, value);
        }
    }
    if let Ok(text) = env::var("AZURE_STORAGE_CONNECTION_STRING") {
        for (name, value) in text.split(';').filter_map(|it| it.split_once('=')) {
            let key = match name {
                "AccountName" => AzureConfigKey::AccountName,
                "AccountKey" => AzureConfigKey::AccessKey,
                "SharedAccessSignature" => AzureConfigKey::SasKey,
                "BlobEndpoint" => AzureConfigKey::Endpoint,
                _ => continue,
            };
            is_configured |= matches!(key, AzureConfigKey::AccessKey | AzureConfigKey::SasKey);
            builder = builder.with_config(key, value);
        }
    }
    if builder.get_config_value(&AzureConfigKey::AccountName).is_none() {
        return Err("no storage account is named: set AZURE_STORAGE_ACCOUNT_NAME".to_owned());
    }
    let is_anonymous =
        is_true(env::var("AZURE_SKIP_SIGNATURE").ok()) || !(is_configured || is_machine_of_cloud());
    let objects = builder.with_skip_signature(is_anonymous).build().map_err(configured)?;
    Ok(Store { objects: Box::new(objects), scheme: url.scheme, is_anonymous })
}

/// Of HTTP a store is one file: its URL is asked for as it was named.
fn http(url: &FileUrl, client: &SharedClient) -> Result<Store, String> {
    let builder = HttpBuilder::new().with_url(url.signed()).with_retry(retry());
    let objects = builder.with_http_connector(client.clone()).build().map_err(configured)?;
    Ok(Store { objects: Box::new(objects), scheme: url.scheme, is_anonymous: true })
}

/// What is wrong with a configuration. Of an error of the library this is the first line, without the values that it was given.
fn configured(error: object_store::Error) -> String {
    crate::faults::innermost(&error)
}

fn is_any_set(variables: &[&str]) -> bool {
    variables.iter().any(|it| env::var_os(it).is_some())
}

fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|it| matches!(&*it.to_lowercase(), "1" | "true" | "yes" | "on" | "y" | "t"))
}

/// Whether this machine is one of a cloud, which gives it credentials. All of them have that service at this address.
fn is_machine_of_cloud() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    let address = SocketAddr::from(([169, 254, 169, 254], 80));
    *IS.get_or_init(|| TcpStream::connect_timeout(&address, MACHINE_TIMEOUT).is_ok())
}

/// Stores by what their requests have in common.
pub(crate) fn key_of(url: &FileUrl) -> String {
    match url.scheme {
        Scheme::Http => url.signed(),
        _ => url.place.clone(),
    }
}
