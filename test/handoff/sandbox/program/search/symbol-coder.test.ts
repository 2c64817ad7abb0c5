// Numbers in parts of bits: what is read is what was written, and false bytes end.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteReader, createWriter } from '../../../../../src/handoff/sandbox/program/search/bytes.js'
import {
  readSteps,
  type SymbolCoder,
  SymbolCounter,
  SymbolReader,
  SymbolTables,
  SymbolWriter,
  writeSteps,
} from '../../../../../src/handoff/sandbox/program/search/symbol-coder.js'

const contexts = 4
type Said = [kind: 'number' | 'symbol', context: number, value: number]

const code = (coder: SymbolCoder, said: readonly Said[]) => said.map(([kind, ...rest]) => coder[kind](...rest))

function write(said: readonly Said[]) {
  const counter = new SymbolCounter(contexts)
  code(counter, said)
  const steps = counter.steps()
  const writer = new SymbolWriter(steps)
  code(writer, said)
  const table = createWriter()
  writeSteps(table, steps)
  return { bytes: writer.take(), table: table.take() }
}

const read = ({ bytes, table }: ReturnType<typeof write>, most = 10_000) =>
  new SymbolReader(new SymbolTables(readSteps(new ByteReader(table), contexts)), bytes, most)

const aNumber = fc.oneof(fc.nat(9), fc.nat(70_000), fc.nat(2 ** 30))
const said = fc.oneof(
  fc.tuple(fc.constant('number' as const), fc.nat(1), aNumber),
  fc.tuple(fc.constant('symbol' as const), fc.constantFrom(2, 3), fc.nat(63)),
)

test('what is read is what was written', () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 300 }), (all) => {
      const reader = read(write(all))
      expect(all.map(([kind, context]) => reader[kind](context, -1))).toEqual(all.map(([, , value]) => value))
    }),
  )
})

test('a frequent symbol takes a part of a bit, and one that is always the same takes none', () => {
  const often = Array.from({ length: 8_000 }, (_, at): Said => ['number', 0, at % 100 === 0 ? 1 : 0])
  const { length } = write(often).bytes
  expect(length).toBeLessThan(90)
  expect(write(often.map(() => ['symbol', 3, 17])).bytes).toHaveLength(4)
})

test('reading ends at the end of the bytes, at a symbol that no context has, and at the limit', () => {
  const written = write(Array.from({ length: 400 }, (_, at): Said => ['number', 0, at * 7]))
  const reader = read(written)
  const readOn = () => {
    for (;;) reader.number(0)
  }
  expect(readOn).toThrow(RangeError)
  expect(() => read(written).number(1)).toThrow(/wrong symbol/)
  const bounded = read(written, 1)
  bounded.number(0)
  expect(() => bounded.number(0)).toThrow(/wrong symbol/)
  expect(() => read({ ...written, bytes: Buffer.alloc(4) })).toThrow(/begins wrongly/)
  expect(() => read({ ...written, bytes: Buffer.alloc(2) })).toThrow(RangeError)
})

test('a table of more symbols, or of larger shares, than there can be is refused', () => {
  const tableOf = (...bytes: number[]) => new ByteReader(Buffer.from(bytes))
  expect(() => readSteps(tableOf(65, ...Array(65).fill(1)), 1)).toThrow(/wrong table/)
  expect(() => readSteps(tableOf(1, 255), 1)).toThrow(/wrong table/)
  expect(() => readSteps(tableOf(3, 1), 1)).toThrow(RangeError)
})
