// The journals of the local drive9, by the contract that a real one must keep too.
import { expect } from 'vitest'
import { startDrive } from '../../../src/emulators/drive9/server/main.js'
import { makeJournal } from '../../../src/handoff/clients/drive9/journal.js'
import { journalContract } from '../../contract/journal.js'

journalContract('the local journal', async () => {
  const local = await startDrive()
  return {
    journal: makeJournal({ server: local.url, key: local.ownerKey }),
    close: async () => {
      expect(local.unexpected).toEqual([])
      await local.close()
    },
  }
})
