// The drive9 contract against a real service. A missing setting is a failure: who runs this wants to know.
import { randomUUID } from 'node:crypto'
import { makeDrive } from '../../src/handoff/clients/drive9/client.js'
import { driveContract } from '../contract/drive.js'

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
