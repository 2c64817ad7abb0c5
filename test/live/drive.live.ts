// The drive9 contract against a real service. A missing setting is a failure: who runs this wants to know.
import { randomUUID } from 'node:crypto'
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { makeJournal } from '../../src/handoff/clients/drive9/journal.js'
import { driveContract } from '../contract/drive.js'
import { journalContract } from '../contract/journal.js'

function setting(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`Set ${name} to run this against a real drive9.`)
  return value
}

driveContract('a real drive9', async () => {
  const server = setting('DRIVE9_SERVER')
  const hosts = (process.env['DRIVE9_OBJECT_HOSTS'] ?? '').split(/[\s,]+/).filter((host) => host !== '')
  const withKey = (key: string) => makeDrive({ server, key, hosts })
  const root = `/handoff-contract-${randomUUID()}`
  return { drive: withKey(setting('DRIVE9_API_KEY')), withKey, root, close: async () => undefined }
})

/** Its journals stay: a server has no way to remove one. */
journalContract('a real journal', async () => {
  const journal = makeJournal({ server: setting('DRIVE9_SERVER'), key: setting('DRIVE9_API_KEY') })
  return { journal, close: async () => undefined }
})
