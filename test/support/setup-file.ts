// Runs around every test file: keeps the ledger of outside calls, and looks for secrets in all that was let out.
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterAll, expect, inject } from 'vitest'
import { witnessRequests } from '../../src/emulators/faulty-server.js'
import { countCalls, itsOwnAffair } from './calls.js'
import type { Witnessed } from './global-setup.js'
import { listen, secretWatch } from './recorded-requests.js'

const calls = countCalls()
const stopCounting = witnessRequests(calls.take)
const stopListening = listen()

// First to be asked for is last to be called: by then every world of the file is closed.
afterAll(() => {
  stopCounting()
  stopListening()
  const file = relative(join(import.meta.dirname, '..'), expect.getState().testPath ?? '')
  const leaks = itsOwnAffair.test(file) ? [] : secretWatch.leaks()
  const witnessed: Witnessed = { calls: calls.ledger, looked: { ...secretWatch.looked(), leaks: leaks.length } }
  writeFileSync(join(inject('ledgers'), `${file.replaceAll('/', '+')}.json`), JSON.stringify(witnessed))
  if (leaks.length > 0) throw new Error(`secrets out of place:\n${leaks.slice(0, 20).join('\n')}`)
})
