import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseRows } from '../../../src/handoff/util/json-rows.js'

function parsed(text: string): { rows: unknown[]; rest: unknown } {
  const rows: unknown[] = []
  const rest = parseRows(new TextEncoder().encode(text), 'rows', (row) => rows.push(row))
  return { rows, rest }
}

describe('a list in a JSON object', () => {
  test('is given row by row, whatever stands before, in and behind it', () => {
    const object = fc.record({ first: fc.jsonValue(), rows: fc.array(fc.jsonValue()), last: fc.jsonValue() })
    const property = fc.property(object, fc.boolean(), ({ first, rows, last }, indented) => {
      const text = JSON.stringify({ '"rows":[': first, rows, last }, null, indented ? 0 : undefined)
      const same = JSON.parse(JSON.stringify({ '"rows":[': first, rows: [], last }))
      expect(parsed(text)).toEqual({ rows: JSON.parse(JSON.stringify(rows)), rest: same })
    })
    fc.assert(property)
  })

  test.for<[string, unknown[]]>([
    ['{"rows":[]}', []],
    ['{"rows":[ ]}', []],
    ['{"rows":[ {"a":"],[{\\""} , [1,[2]] ]}', [{ a: '],[{"' }, [1, [2]]]],
    ['{"deep":{"rows":[1]},"rows":[2]}', [2]],
  ])('%s', ([text, rows]) => {
    expect(parsed(text).rows).toEqual(rows)
  })

  test('stays in the object where it is written otherwise, as JSON allows', () => {
    expect(parsed('{"rows" : [1]}')).toEqual({ rows: [], rest: { rows: [1] } })
  })

  test.for([
    '',
    '[',
    '{"rows":[',
    '{"rows":[1',
    '{"rows":[1,',
    '{"rows":["',
    '{"rows":[1]',
    '{"rows":[1]}}',
    '{"rows":[1}]',
  ])('of a text that is not JSON has no object: %s', (text) => {
    expect(parsed(text).rest).toBeUndefined()
  })

  test('has an undefined row where an entry is not JSON', () => {
    expect(parsed('{"rows":[1,,2]}').rows).toEqual([1, undefined, 2])
    expect(parsed('{"rows":[1,]}').rows).toEqual([1, undefined])
  })
})
