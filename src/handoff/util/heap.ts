// How much memory the process keeps for objects that live briefly.
import { setFlagsFromString } from 'node:v8'

/**
 * The young generation of the heap stays as small as it is at the start; V8 lets it grow to 64 MB for one large table. Its size is decided anew at
 * each collection, so it can be set while the process runs.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
