// Runs around every test file: records the outside calls, and looks for secrets in everything that was sent or printed.
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, expect, inject } from 'vitest'
import { witnessRequests } from '../../src/emulators/faulty-server.js'
import { isEmulatorOrClientTest, recordCalls } from './call-log.js'
import type { FileRecord } from './global-setup.js'
import { listen, secretWatch } from './recorded-requests.js'

const calls = recordCalls()
const stopRecording = witnessRequests(calls.record)
const stopListening = listen()

// Registered first, so it runs last: every server of the file is closed by then.
afterAll(() => {
  stopRecording()
  stopListening()
  const file = relative(join(import.meta.dirname, '..'), expect.getState().testPath ?? '')
  // Files share a process: the next one begins with a watch that knows no keys.
  const found = secretWatch.leaks()
  const leaks = isEmulatorOrClientTest.test(file) ? [] : found
  const record: FileRecord = { calls: calls.log, scanned: { ...secretWatch.scanned(), leaks: leaks.length } }
  writeFileSync(join(inject('outsideCalls'), `${file.replaceAll('/', '+')}.json`), JSON.stringify(record))
  if (leaks.length > 0) throw new Error(`secrets out of place:\n${leaks.slice(0, 20).join('\n')}`)
})
