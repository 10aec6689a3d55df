//! The calls of each language that write, one row for what they do.

use Act::{Edit, MakeDir, Remove, RemoveTree, Write};
use Effect::{Each, First, Named, Own, Second, Third};

use super::{Effect, On};
use crate::base::target::Act;

/// On what the calls stand, their names, and what they do.
pub(super) type Row = (On, &'static [&'static str], Effect);

const OS: On = On::Imported(&["os"]);
const SHUTIL: On = On::Imported(&["shutil"]);

pub(super) const PYTHON: &[Row] = &[
    (
        On::Imported(&["io", "codecs", "gzip", "bz2", "lzma", "tarfile", "aiofiles"]),
        &["open"],
        Effect::Open,
    ),
    (On::Path, &["open"], Effect::OwnOpen),
    (On::Any, &["ZipFile"], Effect::Open),
    (OS, &["open"], Effect::Open),
    (
        On::Imported(&["tempfile"]),
        &["NamedTemporaryFile"],
        Effect::MadeUp(4, Write),
    ),
    (
        On::Imported(&["tempfile"]),
        &["mkstemp"],
        Effect::MadeUp(0, Write),
    ),
    (
        On::Imported(&["tempfile"]),
        &["mkdtemp", "TemporaryDirectory"],
        Effect::MadeUp(0, MakeDir),
    ),
    (SHUTIL, &["make_archive"], Effect::Archive),
    (SHUTIL, &["unpack_archive"], Second(MakeDir)),
    (On::Any, &["extractall"], First(MakeDir)),
    (On::Imported(&["logging"]), &["FileHandler"], First(Edit)),
    (
        OS,
        &["remove", "unlink", "rmdir", "removedirs"],
        First(Remove),
    ),
    (OS, &["rename", "renames", "replace"], Effect::Rename),
    (OS, &["makedirs", "mkdir"], First(MakeDir)),
    (OS, &["mkfifo", "mknod"], First(Write)),
    (OS, &["truncate"], First(Edit)),
    (OS, &["symlink"], Effect::Symlink),
    (OS, &["link"], Effect::HardLink),
    (OS, &["chdir"], Effect::ChangeDir),
    (OS, &["system", "popen"], Effect::Run),
    (SHUTIL, &["copy", "copyfile", "copy2"], Effect::Copy),
    (SHUTIL, &["copytree"], Effect::CopyTo),
    (SHUTIL, &["move"], Effect::Move),
    (SHUTIL, &["rmtree"], First(RemoveTree)),
    (
        On::Names(&["subprocess", "sp"]),
        &[
            "run",
            "call",
            "check_call",
            "check_output",
            "Popen",
            "getoutput",
        ],
        Effect::Run,
    ),
    (
        On::Path,
        &["write_text", "write_bytes", "touch"],
        Own(Write),
    ),
    (On::Path, &["unlink", "rmdir"], Own(Remove)),
    (On::Path, &["mkdir"], Own(MakeDir)),
    (On::Path, &["rename", "replace"], Effect::OwnRename),
    (On::Path, &["symlink_to"], Effect::OwnSymlink),
    (
        On::Any,
        &[
            "to_csv",
            "to_json",
            "to_parquet",
            "to_excel",
            "to_pickle",
            "savefig",
        ],
        First(Write),
    ),
    (On::Any, &["urlretrieve"], Second(Write)),
    (On::Bare, &["exec"], Effect::Code),
    (
        On::Imported(&["logging"]),
        &["basicConfig"],
        Named("filename", Edit),
    ),
    (On::Names(&["sqlite3"]), &["connect"], First(Edit)),
    (
        On::Names(&["shelve", "dbm", "tree"]),
        &["open", "write"],
        First(Write),
    ),
    (
        On::Names(&["np", "numpy"]),
        &["save", "savetxt", "savez"],
        First(Write),
    ),
    (
        On::Names(&["fileinput"]),
        &["input", "FileInput"],
        Effect::InPlace,
    ),
];

const FS: On = On::Names(&["fs", "fsp", "fse", "promises", "fsPromises", "Deno"]);
const FS_OR_BARE: On = On::Imported(&["fs", "fsp", "fse", "promises", "fsPromises", "Deno"]);

pub(super) const SCRIPT: &[Row] = &[
    (
        On::Any,
        &["writeFile", "writeFileSync", "createWriteStream"],
        First(Write),
    ),
    (
        On::Any,
        &[
            "writeTextFile",
            "writeTextFileSync",
            "outputFile",
            "outputFileSync",
        ],
        First(Write),
    ),
    (
        On::Any,
        &["writeJson", "writeJsonSync", "outputJson", "outputJsonSync"],
        First(Write),
    ),
    (On::Names(&["Bun"]), &["write"], First(Write)),
    (
        On::Names(&["Deno"]),
        &["create", "createSync"],
        First(Write),
    ),
    (On::Any, &["appendFile", "appendFileSync"], First(Edit)),
    (On::Any, &["unlinkSync", "rmdirSync"], First(Remove)),
    (FS_OR_BARE, &["unlink", "rmdir"], First(Remove)),
    (On::Any, &["rmSync", "removeSync"], First(RemoveTree)),
    (FS, &["rm", "remove"], First(RemoveTree)),
    (On::Any, &["renameSync", "moveSync"], Effect::Rename),
    (FS, &["rename", "move"], Effect::Rename),
    (
        On::Any,
        &["copyFile", "copyFileSync", "cpSync", "copySync"],
        Effect::CopyTo,
    ),
    (FS, &["cp", "copy"], Effect::CopyTo),
    (
        On::Any,
        &["mkdirSync", "ensureDirSync", "ensureDir"],
        First(MakeDir),
    ),
    (FS_OR_BARE, &["mkdir"], First(MakeDir)),
    (On::Any, &["truncateSync"], First(Edit)),
    (FS, &["truncate"], First(Edit)),
    (On::Any, &["symlinkSync"], Effect::Symlink),
    (FS, &["symlink"], Effect::Symlink),
    (On::Any, &["linkSync"], Effect::HardLink),
    (FS, &["link"], Effect::HardLink),
    (On::Any, &["doShellScript"], Effect::Run),
    (On::Bare, &["eval"], Effect::Code),
    (On::Any, &["openSync"], Effect::Open),
    (FS, &["open"], Effect::Open),
    (
        On::Names(&["process", "Deno"]),
        &["chdir"],
        Effect::ChangeDir,
    ),
    (
        On::Any,
        &["execSync", "spawnSync", "execFileSync"],
        Effect::Run,
    ),
    (
        On::Imported(&["child_process", "cp"]),
        &["exec", "spawn", "execFile"],
        Effect::Run,
    ),
];

const FILE_UTILS: On = On::Imported(&["FileUtils"]);

pub(super) const RUBY: &[Row] = &[
    (
        On::Names(&["File", "IO"]),
        &["write", "binwrite"],
        First(Write),
    ),
    (On::Imported(&["File", "IO"]), &["open"], Effect::Open),
    (On::Names(&["File"]), &["new"], Effect::Open),
    (On::Names(&["File"]), &["delete", "unlink"], Each(Remove)),
    (On::Names(&["File"]), &["rename"], Effect::Rename),
    (On::Names(&["File"]), &["symlink"], Effect::Symlink),
    (On::Names(&["File"]), &["link"], Effect::HardLink),
    (On::Names(&["File"]), &["truncate"], First(Edit)),
    (On::Names(&["Dir"]), &["mkdir"], First(MakeDir)),
    (
        On::Names(&["Dir"]),
        &["rmdir", "delete", "unlink"],
        First(Remove),
    ),
    (On::Names(&["Dir"]), &["chdir"], Effect::ChangeDir),
    (FILE_UTILS, &["rm", "rm_f", "remove"], First(Remove)),
    (
        FILE_UTILS,
        &["rm_r", "rm_rf", "rmtree", "remove_dir", "remove_entry"],
        First(RemoveTree),
    ),
    (
        FILE_UTILS,
        &["cp", "cp_r", "copy", "copy_file", "install"],
        Effect::Copy,
    ),
    (FILE_UTILS, &["mv", "move"], Effect::Move),
    (FILE_UTILS, &["touch"], First(Write)),
    (
        FILE_UTILS,
        &["mkdir", "mkdir_p", "makedirs", "mkpath"],
        First(MakeDir),
    ),
    (FILE_UTILS, &["ln_s", "ln_sf", "symlink"], Effect::Symlink),
    (FILE_UTILS, &["ln", "link"], Effect::HardLink),
    (FILE_UTILS, &["cd"], Effect::ChangeDir),
    (On::Path, &["write", "binwrite"], Own(Write)),
    (On::Path, &["delete", "unlink"], Own(Remove)),
    (On::Path, &["rmtree"], Own(RemoveTree)),
    (On::Path, &["mkpath", "mkdir"], Own(MakeDir)),
    (On::Path, &["rename"], Effect::OwnRename),
    (
        On::Imported(&["Kernel"]),
        &["system", "exec", "spawn"],
        Effect::Run,
    ),
    (On::Names(&["IO"]), &["popen"], Effect::Run),
    (On::Bare, &["eval"], Effect::Code),
];

pub(super) const PERL: &[Row] = &[
    (On::Bare, &["open"], Effect::Open),
    (On::Bare, &["sysopen"], Effect::OpenAt(1)),
    (On::Names(&["File"]), &["new"], Effect::OpenAt(0)),
    (On::Bare, &["unlink"], Each(Remove)),
    (On::Bare, &["rmdir"], First(Remove)),
    (On::Bare, &["rmtree", "remove_tree"], Each(RemoveTree)),
    (On::Bare, &["rename"], Effect::Rename),
    (On::Bare, &["mkdir"], First(MakeDir)),
    (On::Bare, &["make_path", "mkpath"], Each(MakeDir)),
    (On::Bare, &["copy", "cp"], Effect::Copy),
    (On::Bare, &["move", "mv"], Effect::Move),
    (On::Bare, &["symlink"], Effect::Symlink),
    (On::Bare, &["link"], Effect::HardLink),
    (On::Bare, &["truncate"], First(Edit)),
    (On::Bare, &["write_file"], First(Write)),
    (On::Bare, &["chdir"], Effect::ChangeDir),
    (On::Bare, &["system", "exec"], Effect::Run),
    (On::Bare, &["eval"], Effect::Code),
    (
        On::Path,
        &["spew", "spew_utf8", "spew_raw", "touch"],
        Own(Write),
    ),
    (On::Path, &["append", "append_utf8"], Own(Edit)),
    (On::Path, &["remove"], Own(Remove)),
];

pub(super) const PHP: &[Row] = &[
    (On::Bare, &["file_put_contents", "touch"], First(Write)),
    (On::Bare, &["fopen"], Effect::Open),
    (On::Bare, &["unlink", "rmdir"], First(Remove)),
    (On::Bare, &["rename"], Effect::Rename),
    (On::Bare, &["move_uploaded_file"], Second(Write)),
    (On::Bare, &["copy"], Second(Write)),
    (On::Bare, &["mkdir"], First(MakeDir)),
    (On::Bare, &["symlink"], Effect::Symlink),
    (On::Bare, &["link"], Effect::HardLink),
    (On::Bare, &["chdir"], Effect::ChangeDir),
    (
        On::Bare,
        &["system", "exec", "shell_exec", "passthru", "popen"],
        Effect::Run,
    ),
];

pub(super) const AWK: &[Row] = &[(On::Bare, &["system"], Effect::Run)];

pub(super) const LUA: &[Row] = &[
    (On::Names(&["io"]), &["open"], Effect::Open),
    (On::Names(&["io"]), &["output"], First(Write)),
    (On::Names(&["io"]), &["popen"], Effect::Run),
    (On::Names(&["os"]), &["remove"], First(Remove)),
    (On::Names(&["os"]), &["rename"], Effect::Rename),
    (On::Names(&["os"]), &["execute"], Effect::Run),
    (On::Names(&["lfs"]), &["mkdir"], First(MakeDir)),
    (On::Names(&["lfs"]), &["chdir"], Effect::ChangeDir),
];

pub(super) const R: &[Row] = &[
    (
        On::Bare,
        &[
            "writeLines",
            "saveRDS",
            "write",
            "dput",
            "fwrite",
            "writexl",
        ],
        Second(Write),
    ),
    (
        On::Names(&["write"]),
        &["csv", "csv2", "table"],
        Second(Write),
    ),
    (
        On::Any,
        &["write_csv", "write_json", "write_lines", "write_yaml"],
        Second(Write),
    ),
    (On::Bare, &["cat", "save", "capture"], Named("file", Write)),
    (On::Names(&["capture"]), &["output"], Named("file", Write)),
    (
        On::Bare,
        &["sink", "png", "pdf", "svg", "jpeg", "ggsave"],
        First(Write),
    ),
    (On::Bare, &["file"], Effect::Open),
    (On::Names(&["file"]), &["remove"], Each(Remove)),
    (On::Names(&["file"]), &["create"], Each(Write)),
    (On::Names(&["file"]), &["copy"], Effect::Copy),
    (On::Names(&["file"]), &["rename"], Effect::Rename),
    (On::Names(&["file"]), &["symlink"], Effect::Symlink),
    (On::Names(&["dir"]), &["create"], First(MakeDir)),
    (On::Bare, &["unlink"], First(RemoveTree)),
    (On::Bare, &["setwd"], Effect::ChangeDir),
    (On::Bare, &["system"], Effect::Run),
];

pub(super) const JULIA: &[Row] = &[
    (On::Bare, &["write", "touch"], First(Write)),
    (On::Bare, &["open"], Effect::Open),
    (On::Bare, &["rm"], First(RemoveTree)),
    (On::Bare, &["mv"], Effect::Rename),
    (On::Bare, &["cp"], Second(Write)),
    (On::Bare, &["mkdir", "mkpath"], First(MakeDir)),
    (On::Bare, &["symlink"], Effect::Symlink),
    (On::Bare, &["cd"], Effect::ChangeDir),
];

pub(super) const LISP: &[Row] = &[
    (On::Bare, &["write-region"], Third(Write)),
    (On::Bare, &["append-to-file"], Third(Edit)),
    (On::Bare, &["with-temp-file", "write-file"], First(Write)),
    (On::Bare, &["delete-file"], First(Remove)),
    (On::Bare, &["delete-directory"], First(RemoveTree)),
    (On::Bare, &["rename-file"], Effect::Rename),
    (On::Bare, &["copy-file"], Second(Write)),
    (On::Bare, &["make-directory"], First(MakeDir)),
    (On::Bare, &["make-symbolic-link"], Effect::Symlink),
    (On::Bare, &["cd"], Effect::ChangeDir),
    (
        On::Bare,
        &["shell-command", "shell-command-to-string"],
        Effect::Run,
    ),
];

pub(super) const APPLE_SCRIPT: &[Row] = &[(On::Bare, &["script"], Effect::Run)];

pub(super) const JAVA: &[Row] = &[
    (
        On::Names(&["Files"]),
        &[
            "write",
            "writeString",
            "createFile",
            "newBufferedWriter",
            "newOutputStream",
        ],
        First(Write),
    ),
    (
        On::Names(&["Files"]),
        &["delete", "deleteIfExists"],
        First(Remove),
    ),
    (
        On::Names(&["Files"]),
        &["createDirectory", "createDirectories"],
        First(MakeDir),
    ),
    (On::Names(&["Files"]), &["move"], Effect::Rename),
    (On::Names(&["Files"]), &["copy"], Second(Write)),
    (
        On::Bare,
        &[
            "FileWriter",
            "PrintWriter",
            "FileOutputStream",
            "PrintStream",
        ],
        First(Write),
    ),
    (On::Any, &["exec"], Effect::Run),
    (On::Path, &["delete"], Own(Remove)),
    (On::Path, &["createNewFile", "setText", "write"], Own(Write)),
    (On::Path, &["mkdir", "mkdirs"], Own(MakeDir)),
    (On::Path, &["renameTo"], Effect::OwnRename),
];
