// Ids that sort by time: nine base-36 digits of milliseconds, then sixty-four random bits. Lowercase letters and digits only.
import { randomBytes } from 'node:crypto'

export function uniqueId(): string {
  const time = Date.now().toString(36).padStart(9, '0')
  const chance = BigInt(`0x${randomBytes(8).toString('hex')}`)
    .toString(36)
    .padStart(13, '0')
  return `${time}${chance}`
}
