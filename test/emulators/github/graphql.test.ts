// The local GitHub's GraphQL refuses what GitHub refuses: what a type does not have, variables that are not declared, objects without a selection.
import { expect, test } from 'vitest'
import { runGraphql } from '../../../src/emulators/github/graphql.js'

const roots = {
  query: {
    __typename: 'Query',
    viewer: { __typename: 'User', login: 'wanda', databaseId: 7 },
    node: ({ id }: Record<string, unknown>) => ({ __typename: 'Issue', id: String(id), title: 'A title' }),
    list: [
      { __typename: 'Issue', id: '1' },
      { __typename: 'Issue', id: '2' },
    ],
    nothing: null,
  },
  mutation: { __typename: 'Mutation', rename: ({ input }: Record<string, unknown>) => JSON.stringify(input) },
}
const run = (document: string, variables = {}) => runGraphql(document, variables, roots)

test.each([
  ['{ viewer { login } }', {}, { viewer: { login: 'wanda' } }],
  ['query { viewer { login databaseId } }', {}, { viewer: { login: 'wanda', databaseId: 7 } }],
  [
    'query Named($id: ID!) { node(id: $id) { id ... on Issue { title } ... on User { login } } }',
    { id: 'x' },
    { node: { id: 'x', title: 'A title' } },
  ],
  ['{ list { id } nothing { id } }', {}, { list: [{ id: '1' }, { id: '2' }], nothing: null }],
  [
    'mutation($a: String) { rename(input: { a: $a, b: 3, c: "d", e: { f: EYES } }) }',
    {},
    { rename: '{"a":null,"b":3,"c":"d","e":{"f":"EYES"}}' },
  ],
])('%s', (document, variables, data) => {
  expect(run(document, variables)).toEqual({ data })
})

test.each([
  ['{ viewer { name } }', {}, "Field 'name' doesn't exist on type 'User'"],
  ['{ viewer }', {}, 'Field must have selections'],
  ['{ viewer { login { x } } }', {}, "Selections can't be made on scalars"],
  ['{ viewer(id: 1) { login } }', {}, "Field 'viewer' doesn't accept argument 'id'"],
  ['{ node(id: $id) { id } }', { id: 'x' }, 'Variable $id is used by anonymous query but not declared'],
  ['query($id: ID!) { viewer { login } }', { id: 'x' }, 'Variable $id is declared by anonymous query but not used'],
  ['query($id: ID!) { node(id: $id) { id } }', {}, 'Variable $id was provided invalid value'],
  ['{ viewer { login }', {}, 'Expected'],
  ['{ viewer { login } } { viewer { login } }', {}, 'Expected one operation'],
  ['{ viewer @skip { login } }', {}, 'Parse error'],
])('%s is refused', (document, variables, message) => {
  expect(run(document, variables)).toMatchObject({
    data: null,
    errors: [{ message: expect.stringContaining(message) }],
  })
})
