// The check of regular expressions sees what it has to see.
import { expect, test } from 'vitest'
import { collectLiterals, findSlowExpressions } from '../../src/build/check-expressions.js'
import { repositoryRoot } from '../../src/cli/sandbox-program.js'

const at = (source: string, flags = '') => ({ place: 'here', source, flags })

test('an exponential and a quadratic expression are found, linear ones are not', async () => {
  const found = await findSlowExpressions([at('^(?:[-_.]\\w+)*\\.txt$'), at('[*_]+$'), at('^[*_]+'), at('a{1,200}b')])
  expect(found.map(({ source }) => source)).toEqual(['^(?:[-_.]\\w+)*\\.txt$', '[*_]+$'])
}, 60_000)

test('literals of the product and of the page are collected', async () => {
  const all = await collectLiterals(repositoryRoot)
  expect(all.length).toBeGreaterThan(500)
  expect(all.some(({ place }) => /^web\/.+:\d+$/.test(place))).toBe(true)
})
