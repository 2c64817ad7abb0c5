// The `drive9` program for the PATH of a local sandbox: mounts without root and without FUSE, and fails as the real one does.
//
//   program.ts          chooses the command, prints and exits            parse-arguments.ts  reads flags as the real program does
//   mount.ts            `mount`: starts a mount or reports why not       mount-daemon.ts, control-server.ts  the process behind a mount
//   mirror.ts           copies changes of the directory to the server    directory-index.ts, watch-folders.ts  detect those changes
//   upload-queue.ts     uploads, retries and gives up                    drain.ts            waits for uploads and reports
//   mount-control.ts    `mount health|status|drain`, `umount`            mount-files.ts      state, log and exit record of a mount
//   kernel.ts           error numbers, for Node programs that ask    error-numbers.ts    which one stands for which refusal
//   fs-commands.ts      `fs …`                                           credentials.ts      chooses key and server
//
// A mount is a plain directory that a background process synchronises. The writer gets no file system errors; the next drain reports them.
// Other differences from the real program:
//   - everything is downloaded when it is mounted; what others write later is not seen until it is mounted again;
//   - `mountpoint -q` says no, `stat -f` shows the disk below, and the directory must be empty before it is mounted;
//   - `close`, `fsync` and every `--durability` answer at once; an upload begins 60 ms after the last write, or at a drain;
//   - creating and removing never gives EACCES, EAGAIN, EROFS or ENOSPC, except to Node programs that load kernel.ts. A read-only mount removes new files again and never uploads changes.
//     Its files have no write bit, which stops every user but root;
//   - once the server refuses the key, reading any file gives EIO and creating one in a folder that the server has gives ENOENT (on Linux),
//     where the real one gives EIO for both; listing, and creating elsewhere, still work, and what is created is lost and the next drain says so;
//   - one process stands for the supervisor and its worker: killed with SIGKILL, it is not started again and the directory stays as it is;
//   - local-only files end with their mount; there is no portable profile, no layers, no git, journal or vault commands.
//
// DRIVE9_LOCAL_TIME_SCALE (or E2B_DRIVE9_LOCAL_TIME_SCALE) shortens all waiting that the real program does: a bad key takes it half a minute.
// 1 is real time.
import { Exit, ending, version } from './parse-arguments.js'

const usage = `usage: drive9 <command> [arguments]

commands:
  mount [flags] [:/remote] <mountpoint>    mount health|status|drain <mountpoint>
  umount [--timeout duration] <mountpoint>
  fs cp|ls|mkdir
  --version
This is the local stand-in: it has no other commands.
`

type Environment = Record<string, string | undefined>

async function dispatch(command: string | undefined, words: string[], environment: Environment): Promise<number> {
  switch (command) {
    case '--version':
    case '-v':
    case 'version':
      process.stdout.write(version)
      return 0
    case '-h':
    case '-help':
    case '--help':
    case 'help':
      process.stdout.write(usage)
      return 0
    case 'mount':
      return mountOrControl(words, environment)
    case 'umount':
      return (await import('./mount-control.js')).unmount(words, environment)
    case 'fs':
      return (await import('./fs-commands.js')).fileCommand(words, environment)
    default:
      throw new Exit(2, command === undefined ? usage : `drive9: unknown command "${command}"\n${usage}`)
  }
}

async function mountOrControl(words: string[], environment: Environment): Promise<number> {
  const [verb, ...rest] = words
  if (verb === 'health' || verb === 'status' || verb === 'drain') {
    return (await import('./mount-control.js'))[verb](rest, environment)
  }
  return (await import('./mount.js')).mount(words, environment)
}

async function main(): Promise<void> {
  const [command, ...words] = process.argv.slice(2)
  try {
    process.exitCode = await dispatch(command, words, process.env)
  } catch (error) {
    const { text, code } = ending(command, error)
    process.stderr.write(text)
    process.exitCode = code
  }
}

await main()
