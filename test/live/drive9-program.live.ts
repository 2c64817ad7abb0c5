// What the drive9 program does, above all how it fails, held against the real one: the folder it is in is all it takes, it talks to the local server.
import { programContract } from '../contract/drive9-program.js'

const folder = process.env['DRIVE9_PROGRAM']
if (!folder) throw new Error('Set DRIVE9_PROGRAM to the folder of a real drive9 program to run this.')

programContract('a real drive9 program', { path: folder, timeScale: 1 })
