//! The profile of the user in `~/.aws/credentials` and `~/.aws/config`, of which the library reads nothing.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;

/// What the files say of one profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AwsProfile {
    name: String,
    values: BTreeMap<String, String>,
}

impl AwsProfile {
    /// The profile that `AWS_PROFILE` names, or the default one.
    ///
    /// # Errors
    /// If one is named that no file has.
    pub(crate) fn of_user() -> Result<Self, String> {
        let home = env::home_dir().map(|it| it.join(".aws")).unwrap_or_default();
        let file = |variable: &str, name: &str| {
            let path = env::var_os(variable).map_or_else(|| home.join(name), PathBuf::from);
            // What cannot be read says nothing.
            fs::read_to_string(path).unwrap_or_default()
        };
        let variable = |name: &str| env::var(name).ok().filter(|it| !it.is_empty());
        let named = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE"));
        let name = named.clone().unwrap_or_else(|| "default".to_owned());
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let config = file("AWS_CONFIG_FILE", "config");
        match Self::read(&name, &credentials, &config) {
            None if named.is_some() => Err(format!(
                "AWS_PROFILE names {name}, and neither ~/.aws/credentials nor ~/.aws/config has that profile"
            )),
            found => Ok(found.unwrap_or_default()),
        }
    }

    /// `None` where neither text has the profile. What credentials say goes before what is configured.
    fn read(name: &str, credentials: &str, config: &str) -> Option<Self> {
        let section = format!("profile {name}");
        let configured =
            section_of(config, |it| it == section || (name == "default" && it == name));
        let own = section_of(credentials, |it| it == name);
        if configured.is_none() && own.is_none() {
            return None;
        }
        let mut values = configured.unwrap_or_default();
        values.extend(own.unwrap_or_default());
        Some(Self { name: name.to_owned(), values })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str).filter(|it| !it.is_empty())
    }

    /// What to do where the profile has its credentials from elsewhere: a role, a portal, a program.
    pub(crate) fn indirect(&self) -> Option<String> {
        if self.get("web_identity_token_file").is_some() {
            return None;
        }
        let others = ["sso_session", "sso_account_id", "credential_process", "login_session"];
        let others = others.iter().filter(|_| self.get("aws_access_key_id").is_none());
        let key = ["role_arn"].iter().chain(others).find(|it| self.get(it).is_some())?;
        let name = &self.name;
        Some(format!(
            "the AWS profile {name} takes its credentials from elsewhere ({key}); pass them on: \
             eval \"$(aws configure export-credentials --profile {name} --format env)\""
        ))
    }
}

/// The values of the section whose name is wanted.
fn section_of(text: &str, is_wanted: impl Fn(&str) -> bool) -> Option<BTreeMap<String, String>> {
    let mut found: Option<BTreeMap<String, String>> = None;
    let mut is_inside = false;
    for line in text.lines() {
        // What is indented belongs to the value above it, and is of services.
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            is_inside = is_wanted(&name);
            if is_inside {
                found.get_or_insert_default();
            }
        } else if let (true, Some((key, value))) = (is_inside, line.split_once('=')) {
            let value = value.split(" #").next().unwrap_or(value).trim();
            found.get_or_insert_default().insert(key.trim().to_lowercase(), value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "\
# of the user
[default]
aws_access_key_id = A
aws_secret_access_key=b=c/d+e
[team]
aws_access_key_id=T
";
    const CONFIG: &str = "\
[default]
region = eu-central-1
[profile team]
region = us-west-2  # where it is
aws_access_key_id = not this one
s3 =
  endpoint_url = http://of.services
endpoint_url = http://localhost:9000
[profile  portal]
sso_session = corp
sso_account_id = 1
";

    #[test]
    fn both_files_say_what_a_profile_is() {
        let read = |name: &str| AwsProfile::read(name, CREDENTIALS, CONFIG);
        let default = read("default").unwrap();
        assert_eq!(default.get("aws_secret_access_key"), Some("b=c/d+e"));
        assert_eq!(default.get("region"), Some("eu-central-1"));
        let team = read("team").unwrap();
        assert_eq!(team.get("aws_access_key_id"), Some("T"));
        assert_eq!(team.get("region"), Some("us-west-2"));
        assert_eq!(team.get("endpoint_url"), Some("http://localhost:9000"));
        assert_eq!(team.indirect(), None);
        assert_eq!(read("other"), None);
        let remedy = read("portal").unwrap().indirect().unwrap();
        assert!(
            remedy.contains("(sso_session)") && remedy.contains("--profile portal "),
            "{remedy}"
        );
    }
}
