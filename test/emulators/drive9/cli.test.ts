// The local `drive9` program, as a sandbox finds it on its PATH.
import { join } from 'node:path'
import { programContract } from '../../contract/drive9-program.js'

programContract('the local drive9 program', {
  path: join(import.meta.dirname, '../../../src/emulators/bin'),
  timeScale: 0.01,
  emulator: true,
})
