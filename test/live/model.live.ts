// The model's contract against the service that the settings name. A missing setting is a failure, not a skip.
import { expect, test } from 'vitest'
import { modelContract } from '../contract/model.js'

const { LLM_BASE_URL = 'https://api.openai.com/v1', LLM_API_KEY = '', LLM_MODEL = '' } = process.env

test('the settings of the model are given', () => {
  expect({ LLM_API_KEY: LLM_API_KEY !== '', LLM_MODEL: LLM_MODEL !== '' }).toEqual({
    LLM_API_KEY: true,
    LLM_MODEL: true,
  })
})

modelContract('the real model', async () => ({
  settings: { LLM_BASE_URL: LLM_BASE_URL.replace(/\/+$/, ''), LLM_API_KEY, LLM_MODEL },
}))
