// The same suites against a real E2B account. A missing setting is a failure, not a skip.
import { expect, test } from 'vitest'
import { makeSandboxes } from '../../src/handoff/clients/e2b/client.js'
import { sandboxesContract } from '../contract/sandbox-client.js'
import { sandboxServiceContract } from '../contract/sandboxes.js'

const { E2B_API_KEY: apiKey = '', E2B_TEMPLATE: template = '', E2B_DOMAIN: domain } = process.env

test('the account and the template are named', () => {
  expect({ E2B_API_KEY: apiKey !== '', E2B_TEMPLATE: template !== '' }).toEqual({
    E2B_API_KEY: true,
    E2B_TEMPLATE: true,
  })
})

const connection = { apiKey, ...(domain ? { domain } : {}) }

sandboxServiceContract('E2B', async () => ({ connection, template, stop: async () => undefined }))
sandboxesContract('the line to E2B', () => makeSandboxes({ ...connection, template }))
