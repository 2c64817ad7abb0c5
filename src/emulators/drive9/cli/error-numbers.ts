// The error number that a file operation on a mount gives for a server's refusal, as the real program chooses it (pkg/fuse/dat9fs.go).
import { RemoteError } from './api-client.js'

const byStatus: Record<number, string> = {
  400: 'EINVAL',
  403: 'EACCES',
  404: 'ENOENT',
  412: 'ESTALE',
  413: 'EFBIG',
  499: 'EAGAIN',
  500: 'EAGAIN',
  502: 'EAGAIN',
  503: 'EAGAIN',
  504: 'EAGAIN',
}

/** EIO for everything else: a refused key, a quota (402, 507), a broken connection. */
export function errorNumber(error: unknown): string {
  if (!(error instanceof RemoteError)) return 'EIO'
  if (error.status === 409) return ofConflict(error.message)
  // A request that had no answer in time may have one later.
  if (error.message.includes('context deadline exceeded')) return 'EAGAIN'
  return byStatus[error.status] ?? 'EIO'
}

function ofConflict(message: string): string {
  if (message.includes('revision conflict')) return 'EIO'
  return message.includes('directory not empty') ? 'ENOTEMPTY' : 'EEXIST'
}
