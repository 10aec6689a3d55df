//! No credential of a command reaches a log, whatever its form and its place.

use crate::support::{DEVT, Sandbox};

/// A command, with `§` for what must not be logged.
const COMMANDS: &[&str] = &[
    // Headers.
    "curl -H \"Authorization: Bearer §\" https://h/x",
    "curl -H 'authorization: Basic §' https://h/x",
    "curl -H 'Authorization: Bearer  §' https://h/x",
    "curl -H \"Authorization: \"§ https://h/x",
    "mysql -u root -p --password § db",
    "curl -H \"Authorization: token §\" https://h/x",
    "curl -H Authorization:§ https://h/x",
    "curl --header=\"X-Api-Key: §\" https://h/x",
    "curl -H 'X-Auth-Token: §'",
    "curl -H 'Cookie: session=§'",
    "http GET h/x \"Authorization:Bearer §\"",
    // Users.
    "curl -u user:§ https://h/x",
    "curl -uuser:§ https://h/x",
    "curl --user user:§ https://h/x",
    "curl --user=user:§ https://h/x",
    "curl --user 'user:§' https://h/x",
    "curl -sSLu user:§ https://h/x",
    "wget --password=§ https://h/x",
    "wget --http-password § https://h/x",
    "mysql -u root -p§ db",
    "mysqldump --password='§' db",
    "sshpass -p § ssh h",
    "sshpass -p§ ssh h",
    "docker login -u me -p §",
    "redis-cli -a § ping",
    "openssl rsa -in k.pem -passin pass:§ -passout pass:§",
    "openssl enc -aes-256-cbc -pass pass:§",
    "openssl enc -aes-256-cbc -k § -in x",
    "vault login § ; ls",
    "vault login -method=github token=§",
    "http --auth user:§ h/x",
    "http --auth=user:§ h/x",
    "gh auth login --with-token <<< §",
    "gh auth login --with-token <<<'§'",
    "echo § | sudo -S ls",
    "ls; printf '%s\\n' '§' | sudo -S -k ls",
    "echo § | docker login -u me --password-stdin h",
    "kubectl create secret generic db --from-literal=pw=§",
    "kubectl create secret generic db --from-literal=user=§ --from-literal '9=§' -n x",
    "kubectl create secret generic db --from-literal=\"x=a § b\"",
    "vault kv put secret/db user=a pw=§",
    "gh secret set NAME --body §",
    "gh secret set NAME --body='§'",
    "gh secret set NAME -b \"a § b\"",
    "gh secret set NAME -b§",
    "gh secret set --app actions API_KEY --body §",
    "echo § | gh secret set NAME",
    // Assignments.
    "DB_PW=§ ./run",
    "helm install x --set db.pw=§ --set auth.pass=§",
    "PGPASSWORD=§ psql -c 'select 1'",
    "export GITHUB_TOKEN=§",
    "export GITHUB_TOKEN=\"§\"",
    "DB_PASS=§ ./run",
    "env API_KEY='§' ./run",
    "AWS_SECRET_ACCESS_KEY=§ aws s3 ls",
    "SIGNING_KEY=§ ./run",
    "PRIVATE_KEY=§ ./run",
    "AWS_SESSION_TOKEN=§ aws s3 ls",
    "MYSQL_PWD=§ mysql",
    "PASSPHRASE='§' ./run",
    "gpg --passphrase § -d x",
    "gpg --passphrase 'correct § staple' -d x",
    "PASSWORD='correct § staple' ./run",
    "PASSWORD=\"correct § staple\" ./run",
    "$env:TOKEN = \"§\"",
    "set -x TOKEN §",
    "vault login token=§",
    "aws configure set aws_secret_access_key §",
    "npm config set //registry.npmjs.org/:_authToken=§",
    "npm config set //registry.npmjs.org/:_authToken §",
    "git config http.extraheader \"AUTHORIZATION: bearer §\"",
    "az storage blob list --connection-string 'DefaultEndpointsProtocol=https;AccountKey=§;x=y'",
    // Addresses.
    "git clone https://user:§@github.com/x/y",
    "git clone https://§@github.com/x/y",
    "psql postgres://app:§@db:5432/x",
    "redis-cli -u redis://:§@h:6379",
    "curl 'https://h/x?api_key=§&page=2'",
    "curl https://h/x?page=2\\&access_token=§",
    "curl 'https://h/x?a=b&client_secret=§'",
    "curl 'https://h/x?X-Amz-Signature=§'",
    // Bodies.
    "curl -d '{\"password\":\"§\"}' https://h/x",
    "curl -d '{\"user\":\"a\",\"password\":\"§\"}' https://h/x",
    "curl -d '{\"user\": \"a\", \"password\": \"§\"}' https://h/x",
    "curl -d \"{\\\"token\\\":\\\"§\\\"}\" https://h/x",
    "curl -d 'user=a&password=§&x=1' https://h/x",
    "curl --data-urlencode client_secret=§ https://h/x",
    "python3 -c \"import os; os.environ['API_TOKEN'] = '§'\"",
    "python3 -c 'login(user=\"a\", password=\"§\")'",
    "node -e 'const apiKey = \"§\"'",
    // What no list of known forms has.
    "curl 'https://h/x?key=§' 'https://h/x?sig=§'",
    "npm config set //registry.npmjs.org/:_auth=§",
    "echo 'machine h login u password §' | tee ~/.netrc",
    "zip -P § a.zip b; unzip -P § a.zip",
    "smbclient -U 'u%§' //h/s",
    "ldapsearch -w § -D cn=a",
    "sqlcmd -S h -P §",
    "keytool -storepass § -list",
    "curl -F pat=§ https://h",
    "curl --cert f:§ https://h",
    "MY_PAT=§ ./run",
    "echo 'GITHUB_PAT: §'",
    "curl -X POST https://hooks.slack.com/services/T0/B0/§",
    "fly secrets set A=§",
    "wrangler secret put A <<< §",
    "twine upload -u a -p § dist/x",
    "cargo login §",
    "sudo -S ls <<< §",
    "printf %s § | gpg --passphrase-fd 0 -d x",
    "./deploy sk-ant-abcdefghijklmnop §",
    "python3 -c \"login('u','§')\"",
    "7z a -p§ x.7z y; htpasswd -b f u §; ssh-keygen -N § -f k",
    "case $x in §) true;; esac; [[ $x == § ]]",
    "for x in § b; do echo $x; done; f() { echo §; }; (( § ))",
    "gpg --batch --passphrase-fd 0 <<EOF\n§\nEOF\ntrue",
    "declare -A t=([a]=§); x=(§ b); t[a]=§; export T=a§",
    "echo \"${X:-§}\" \"$(cat §)\" `cat §` <(cat §)",
    "echo --§ -§ ./§/x",
];

/// Credentials that are known by their own form.
const TOKENS: &[&str] = &[
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "gho_16C7e42F292c6912E7710c838347Ae178B4a",
    "ghs_16C7e42F292c6912E7710c838347Ae178B4a",
    "ghr_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456",
    "glpat-abcdEFGH1234_ijklMNO",
    "xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx",
    "xoxp-123456789012-123456789012-abcdef",
    "xapp-1-A0123456789-1234567890123-abcdef0123456789",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
    "sk_live_abcdefghijklmnopqrstuvwx",
    "rk_live_abcdefghijklmnopqrstuvwx",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "AIzaSyA-1234567890abcdefghijklmnopqrstu",
    "ya29.a0AfH6SMBabcdefghijklmnopqrstuvwxyz",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcCJGFiY2RlZmdoaWprbG1ub3A",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "dop_v1_0123456789abcdef0123456789abcdef",
    "SG.abcdefghijklmnopqrstuv.wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "AGE-SECRET-KEY-1QQPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGPQYQSZQ",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
];

/// All that is logged after the command was denied for what follows it.
fn logged(sandbox: &Sandbox, command: &str) -> String {
    let command = format!("{command}\ntrue > .devt/state/notes.md");
    sandbox.denied(&sandbox.bash_event(&command), "ad-hoc-name");
    let log = sandbox.read(DEVT);
    log.lines().next_back().unwrap().to_owned()
}

#[track_caller]
fn check_hidden(commands: impl Iterator<Item = String>, secret: &str) {
    let sandbox = Sandbox::new();
    let shown: Vec<_> = commands
        .filter(|command| logged(&sandbox, command).contains(secret))
        .collect();
    assert!(shown.is_empty(), "in clear:\n{}", shown.join("\n"));
}

#[test]
fn no_secret_of_a_command_is_in_its_record() {
    const SECRET: &str = "hunter2tr0ub4dorhunter2tr0ub4dorhunter2";
    let commands = COMMANDS.iter().map(|command| command.replace('§', SECRET));
    check_hidden(commands, SECRET);
}

#[test]
fn no_token_of_a_service_is_in_a_record() {
    for token in TOKENS {
        let commands = [
            format!("./deploy {token}"),
            format!("./deploy '{token}'"),
            format!("x=({token}) ./deploy"),
            format!("curl https://{token}@h/x"),
        ];
        check_hidden(commands.into_iter(), &token[12..]);
    }
}

#[test]
fn a_private_key_is_hidden() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE\n-----END OPENSSH PRIVATE KEY-----";
    check_hidden([format!("echo '{key}'")].into_iter(), "b3BlbnNz");
}

/// Texts that other tools than Bash run are read as far as they can be, and no further.
#[test]
fn no_secret_of_another_language_is_in_a_record() {
    const SECRET: &str = "hunter2tr0ub4dorhunter2tr0ub4dorhunter2";
    let sandbox = Sandbox::new();
    for command in [
        "$env:TOKEN = \"§\"; Set-Content -Path .devt\\state\\notes.md -Value '§'",
        "$h = @{ token = '§'; b = \"§\" }\nSet-Content .devt/state/notes.md -Value §",
        "@\"\nHe said \"§\"\n§\n\"@ | Set-Content .devt/state/notes.md",
    ] {
        let input = serde_json::json!({ "command": command.replace('§', SECRET) });
        sandbox.denied(&sandbox.event("PowerShell", input), "ad-hoc-name");
    }
    let log = sandbox.read(DEVT);
    assert_eq!(log.lines().count(), 3);
    assert!(!log.contains(SECRET), "{log}");
}
