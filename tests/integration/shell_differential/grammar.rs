//! Random commands of what agents use.

/// A small generator of reproducible numbers (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap_or(0)
    }

    fn pick<'t>(&mut self, items: &[&'t str]) -> &'t str {
        items[self.below(items.len())]
    }
}

/// Writes commands whose every write happens under a name that can be read,
/// but for those of `untaken` and `at_run_time`, whose names say so.
pub(super) struct Grammar {
    random: Random,
    n_names: usize,
}

impl Grammar {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            n_names: 0,
        }
    }

    fn name(&mut self) -> String {
        self.n_names += 1;
        format!("f{}", self.n_names)
    }

    /// A name that says why it is no target of the analyser, or never made.
    fn because(&mut self, cause: &str) -> String {
        self.n_names += 1;
        format!("{cause}.{}", self.n_names)
    }

    /// One file name in one of the ways to write it.
    fn word(&mut self) -> String {
        let name = self.name();
        let (head, tail) = name.split_at(1);
        match self.random.below(10) {
            0 => format!("'{name}'"),
            1 => format!("\"{name}\""),
            2 => format!("{head}\"{tail}\""),
            3 => format!("\\{name}"),
            4 => format!("$'{head}'{tail}"),
            5 => format!("$(echo {name})"),
            6 => format!("`echo {name}`"),
            7 => format!("${{UNSET_NAME:-{name}}}"),
            8 => format!("{head}\\\n{tail}"),
            _ => name,
        }
    }

    fn noise(&mut self) -> &'static str {
        self.random.pick(&[
            "echo 'a > quoted1'",
            "echo \"b > quoted2; touch quoted3\"",
            "echo c \\> quoted4",
            ": # > comment1",
            "[[ a < b ]]",
            "(( 2 > 1 ))",
            "echo $(( 3 > 2 ))",
            "echo x 2>&1",
            "echo x >/dev/null 2>&1",
            "cat <<'END'\n> heredoc1\ntouch heredoc2\nEND",
            "cat <<END\n> heredoc3 \\$(touch heredoc4)\nEND",
            "unused() { touch never1; }",
            "VAR='touch never2'",
            "case x in y) touch case.3 ;; esac",
        ])
    }

    fn simple(&mut self) -> String {
        match self.random.below(18) {
            0..5 => self.redirection(),
            5..9 => self.copier(),
            9..12 => self.loop_over_words(),
            12..15 => self.program(),
            15 => self.removal(),
            16 => self.untaken(),
            _ => self.at_run_time(),
        }
    }

    fn redirection(&mut self) -> String {
        let word = self.word();
        match self.random.below(16) {
            0 => format!("echo hi > {word}"),
            1 => format!("echo hi >>{word}"),
            2 => format!("> {word} echo hi"),
            3 => format!("echo hi &> {word}"),
            4 => format!("echo hi >& {word}"),
            5 => format!("echo hi 3<> {word}"),
            6 => format!("echo hi >| {word}"),
            7 => format!("echo hi | tee {word} >/dev/null"),
            8 => format!("cat > {word} <<'END'\n$(touch never4)\nEND"),
            9 => format!("cat <<END > {word}\n$(echo text)\nEND"),
            10 => format!("cat > {word} <<< text"),
            11 => format!("{{ echo a; echo b; }} > {word}"),
            12 => format!("for i in 1 2; do echo $i; done >> {word}"),
            13 => format!("( exec > {word}; echo hi )"),
            14 => format!("X={word}; echo hi > \"$X\""),
            _ => format!("echo hi 2> {word} >/dev/null"),
        }
    }

    /// Programs that write one file; `~` has `s1`, `s2`, and `sd` with `a` and `b`.
    fn copier(&mut self) -> String {
        let (word, a, b) = (self.word(), self.name(), self.name());
        match self.random.below(20) {
            0 => format!("touch {word}"),
            1 => format!("touch {{{a},{b}}} {word}"),
            2 => format!("cp ~/s1 {word}"),
            3 => format!("mkdir {a}; cp ~/s1 ~/s2 {a}/"),
            4 => format!("mkdir {a}; cp ~/sd/* {a}"),
            5 => format!("cp -r ~/sd {word}"),
            6 => format!("cp ~/s1 {a}; mv {a} {word}"),
            7 => format!("mkdir {a}; cp ~/s1 {b}; mv {b} {a}"),
            8 => format!("install -m 644 ~/s1 {word}"),
            9 => format!("ln -s s1 {word}"),
            10 => format!("ln ~/s1 {word}"),
            11 => format!("dd if=/dev/null of={word} 2>/dev/null"),
            12 => format!("sort -o {word} ~/s1"),
            13 => format!("echo hi | tee -a {a} {b} {word} >/dev/null"),
            14 => format!("truncate -s 1 {word}"),
            15 => format!("mkdir -p {a}/{b}"),
            16 => format!("tar -cf {word} -C ~ s1"),
            17 => format!("split -l 1 ~/s2 {}", self.because("split")),
            18 => format!("gzip -c ~/s1 > {word}"),
            _ => format!("cp ~/s1 {a}; cp {a}{{,.bak}}"),
        }
    }

    fn loop_over_words(&mut self) -> String {
        let (a, b) = (self.name(), self.name());
        match self.random.below(12) {
            0 => format!("for n in {a} {b}; do touch \"$n\"; done"),
            1 => format!("for n in {{{a},{b}}}.md; do echo hi > $n; done"),
            2 => format!("for n in ~/sd/*; do cp \"$n\" {a}.${{n##*/}}; done"),
            3 => format!("for n in ~/s?; do touch \"{a}.$(basename \"$n\")\"; done"),
            4 => {
                let last = self.because("shift");
                format!("set -- {a} {last}; while [ $# -gt 0 ]; do touch \"$1\"; shift; done")
            }
            5 => format!("printf '%s\\n' {a} {b} | while read -r n; do touch \"$n\"; done"),
            6 => format!("while read -r n; do touch \"$n\"; done <<'END'\n{a}\n{b}\nEND"),
            7 => format!("A=({a} {b}); for n in \"${{A[@]}}\"; do touch \"$n\"; done"),
            8 => format!("set -- {a} {b}; for n; do touch \"$n\"; done"),
            9 => format!("echo {a} {b} | xargs touch"),
            10 => format!("echo {a} | xargs -I@ cp ~/s1 @.md"),
            _ => format!("for i in 1 2; do for j in x y; do touch {a}$i$j; done; done"),
        }
    }

    fn program(&mut self) -> String {
        let (a, b) = (self.name(), self.name());
        match self.random.below(12) {
            0 => format!("sed -n 'w {a}' ~/s1"),
            1 => format!("awk '{{ print > \"{}\" }}' ~/s1", self.because("awk")),
            2 => format!("awk -v f={} 'BEGIN {{ print 1 > f }}'", self.because("awk")),
            3 => format!("find ~/sd -name a -exec cp {{}} {a} \\;"),
            4 => format!("find ~/sd -name a | xargs -I@ cp @ {a}"),
            5 => format!("perl -e 'open(my $f, \">\", \"{a}\"); print $f 1'"),
            6 => format!("perl -e 'my $f = \"{a}\"; open(F, \">>$f\")'"),
            7 => format!("echo x > {a}; sed -i.bak s/x/y/ {a}"),
            8 => format!("F={a}.txt; touch \"${{F%.txt}}.md\" ${{F/txt/{b}}}"),
            9 => format!("env A=1 touch {a}; command touch {b}"),
            10 => format!("nohup touch {a} >/dev/null 2>&1; nice touch {b}"),
            _ => format!("printf -v F '%s.md' {a}; touch \"$F\""),
        }
    }

    /// Made and gone again: the entry around it is what changed.
    fn removal(&mut self) -> String {
        let (a, b) = (self.name(), self.name());
        match self.random.below(4) {
            0 => format!("touch {a} {b}; rm {a}"),
            1 => format!("mkdir {a}; touch {a}/x {b}; rm -r {a}"),
            2 => format!("mkdir {a} {b}; rmdir {a}"),
            _ => format!("touch {a} {b}; unlink {a}"),
        }
    }

    /// A write that does not happen although it is written there.
    fn untaken(&mut self) -> String {
        let cause = self.random.pick(&[
            "if", "and", "or", "case", "while", "until", "empty", "exit", "return", "test", "trap",
            "find", "noexec", "uncalled",
        ]);
        let name = self.because(cause);
        match cause {
            "if" => format!("if false; then touch {name}; fi"),
            "and" => format!("false && touch {name}"),
            "or" => format!("true || touch {name}"),
            "case" => format!("case a in b) touch {name} ;; esac"),
            "while" => format!("while false; do touch {name}; done"),
            "until" => format!("until true; do touch {name}; done"),
            "empty" => format!("for i in; do touch {name}; done"),
            "exit" => format!("( exit 0; touch {name} )"),
            "return" => format!("back() {{ return; touch {name}; }}; back"),
            "test" => format!("[ 1 = 2 ] && touch {name}"),
            "trap" => format!("trap 'touch {name}' USR1"),
            "find" => format!("find ~ -name nothing -exec touch {name} \\;"),
            "noexec" => format!("bash -n -c 'touch {name}'"),
            _ => format!("uncalled() {{ touch {name}; }}"),
        }
    }

    /// A write under a name that only the run makes.
    fn at_run_time(&mut self) -> String {
        let cause = self.random.pick(&[
            "date", "random", "pid", "pipe", "read", "eval", "sh", "script", "awk", "perl",
            "archive", "variable", "glob",
        ]);
        let name = self.because(cause);
        match cause {
            "date" => format!("touch {name}.$(date +%s)"),
            "random" => format!("echo hi > {name}.$RANDOM"),
            "pid" => format!("cp ~/s1 {name}.$$"),
            "pipe" => format!("date +{name}.%s | xargs touch"),
            "read" => format!("date +{name}.%s | while read -r n; do touch \"$n\"; done"),
            "eval" => format!("eval \"$(date +'touch {name}.%s')\""),
            "sh" => format!("date +'touch {name}.%s' | sh"),
            "script" => format!("sh ~/w.sh {name}"),
            "awk" => format!("awk 'BEGIN {{ srand(); print > (\"{name}.\" srand()) }}'"),
            "perl" => format!("perl -e 'open(F, \">\", \"{name}.\" . time())'"),
            "archive" => "tar -C ~ -cf - archive.d | tar -xf -".to_owned(),
            "glob" => format!("touch {name}; for n in {name}*; do mv $n $n.old; done"),
            _ => format!("N=$(uname); touch \"{name}.$N\""),
        }
    }

    pub(super) fn command(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.simple();
        }
        let inner = self.command(depth - 1);
        let dir = self.name();
        match self.random.below(26) {
            0 => format!("{{ {inner}\n}}"),
            1 => format!("( {inner}\n)"),
            2 => format!("if true; then {inner}\nfi"),
            3 => format!("for i in 1; do {inner}\ndone"),
            4 => format!("while true; do {inner}\nbreak; done"),
            5 => format!("case a in a) {inner}\n;; esac"),
            6 => format!("fn{depth}() {{ {inner}\n}}; fn{depth}"),
            7 => format!("echo $( {inner}\n)"),
            8 => format!("{inner}\n{}", self.noise()),
            9 => format!("{}\n{inner}", self.noise()),
            10 => format!("{inner}\n{}", self.command(depth - 1)),
            11 => format!("true && {{ {inner}\n}}"),
            12 => format!("eval \"$(cat <<'EVAL{depth}'\n{inner}\nEVAL{depth}\n)\""),
            13 => format!("bash <<'NEST{depth}'\n{inner}\nNEST{depth}"),
            14 => format!("! {{ {inner}\n}}"),
            15 => format!("mkdir {dir} && cd {dir}\n{inner}\ncd .."),
            16 => format!("mkdir {dir}; ( cd {dir}; {inner}\n)"),
            17 => format!("mkdir {dir}; pushd {dir} >/dev/null\n{inner}\npopd >/dev/null"),
            18 => format!("mkdir -p {dir}/a/b; cd {dir}/a/b\n{inner}\ncd ../../.."),
            19 => format!("bash -c {}", quoted(&inner)),
            20 => format!("printf '%s\\n' {} | bash", quoted(&inner)),
            21 => format!("cat > {dir} <<'FILE{depth}'\n{inner}\nFILE{depth}\nbash {dir}"),
            22 => format!("cat > {dir} <<'FILE{depth}'\n{inner}\nFILE{depth}\n. ./{dir}"),
            23 => format!("false || {{ {inner}\n}}"),
            24 => format!(
                "fn{depth}() {{ local D=$1; mkdir \"$D\"; cd \"$D\"; {inner}\ncd ..; }}; fn{depth} {dir}"
            ),
            _ => inner,
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
