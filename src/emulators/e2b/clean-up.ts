// The guard of a local cloud clears up what the cloud left, when it ended in any way without having done so itself, also by SIGKILL.
//
// What waits is a shell, because it costs nothing: it reads from a pipe whose writing end only the cloud has. A line on it dismisses the guard;
// its end without one is the end of the cloud, and then the shell becomes this program.
//   guard.ts <how the marker of the cloud's processes begins> <the cloud's directory>

import { endProcesses } from './processes.js'
import { clearDirectory } from './sandbox-directory.js'

const [marker, directory] = process.argv.slice(2)
if (marker === undefined || directory === undefined) throw new Error('Give the marker and the directory.')

await endProcesses({ marker, directory, leaders: new Map() })
await clearDirectory(directory)
