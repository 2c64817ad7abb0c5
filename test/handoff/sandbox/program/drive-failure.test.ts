// What drive9's program says, and what kind of failure that is. The sentences are those of its server and of its HTTP client.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDriveError, lastReason, readLogReason } from '../../../../src/handoff/sandbox/program/drive-failure.js'

test.each([
  ['tenant file count quota exceeded', 'drive-full'],
  ['HTTP 507: ', 'drive-full'],
  ['quota reservation busy', 'store-failed'],
  ['upload too large: max 10737418240 bytes', 'drive-too-large'],
  ['invalid API key', 'drive-refused'],
  ['remote root "/runs/1": fs access denied', 'drive-refused'],
  ['HTTP 403: ', 'drive-refused'],
  ['Put: dial tcp 10.0.0.1:443: connect: connection refused', 'drive-unreachable'],
  ['Get: context deadline exceeded (Client.Timeout exceeded while awaiting headers)', 'drive-unreachable'],
  ['Get: EOF', 'drive-unreachable'],
  ['Get: tls: failed to verify certificate: x509: certificate has expired', 'drive-unreachable'],
  ['storage backend unavailable; contact support', 'store-failed'],
])('%s is %s', (reason, failure) => {
  const error = createDriveError('store-failed', 'a.tar could not be stored', reason, 'EIO')
  expect(error).toMatchObject({ failure, message: `a.tar could not be stored (EIO): ${reason}` })
})

test('without a reason the error says that there is none', () => {
  expect(createDriveError('store-failed', 'a.tar could not be stored', undefined, 1)).toMatchObject({
    failure: 'store-failed',
    message: 'a.tar could not be stored (exit 1): drive9 does not say why',
  })
})

test.each([
  [
    [
      'commit queue: upload attempt 1/5 failed for /a b.tar: storage backend unavailable',
      'commit queue: giving up on /a b.tar after 5 retries: tenant storage quota exceeded',
      'commit queue: post-upload chmod failed for /c: chmod is owner-only',
      'commit queue: successfully uploaded /d (3 bytes, rev=1)',
    ],
    'tenant storage quota exceeded',
  ],
  [
    [`${'x'.repeat(40_000)}`, 'mount: mount exit code=6 reason=startup_transient: remote root "/r": invalid API key'],
    'remote root "/r": invalid API key',
  ],
  [
    ['commit queue: upload attempt 1/5 failed for /a: Put "https://objects.example/a?X-Signature=abc": EOF'],
    'Put: EOF',
  ],
  [['mounted /r of https://drive.example'], undefined],
])('a log names its last failure: %#', async (lines, reason) => {
  const folder = mkdtempSync(join(tmpdir(), 'log-'))
  const log = join(folder, 'mount.log')
  writeFileSync(log, lines.map((line) => `2026/11/19 08:00:00 ${line}\n`).join(''))
  expect(await readLogReason(log)).toBe(reason)
  rmSync(folder, { recursive: true })
  expect(await readLogReason(log), 'a log that is gone names none').toBeUndefined()
})

test('the last line of a program is reported without the place of its log', () => {
  const last = 'mount: drive9 mount: background mount exited before becoming ready: exit status 6'
  expect(lastReason(`component: drive9\n${last} (log: /home/user/.cache/drive9/mount-logs/mount-1.log)\n`)).toBe(last)
  expect(lastReason(' \n')).toBeUndefined()
})
