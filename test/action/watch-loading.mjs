// Loaded before the step by the tests that ask what it loads: writes down every module and every file that is read.
import { appendFileSync } from 'node:fs'
import promises from 'node:fs/promises'
import http from 'node:http'
import { registerHooks, syncBuiltinESMExports } from 'node:module'

const file = process.env.WATCH_LOADING_FILE
if (file) {
  const note = (what) => appendFileSync(file, `${what}\n`)
  registerHooks({
    load(url, context, next) {
      note(url)
      return next(url, context)
    },
  })
  const { readFile } = promises
  promises.readFile = (path, ...rest) => {
    note(String(path))
    return readFile(path, ...rest)
  }
}
// A mistake of ours, with hostile text in it.
if (process.env.THROW_AFTER_MS) {
  setTimeout(() => {
    throw new Error('::add-mask::the\n::error::forged\n##[add-mask]and')
  }, Number(process.env.THROW_AFTER_MS))
}
if (process.env.NODE_VERSION_TOLD)
  Object.defineProperty(process.versions, 'node', { value: process.env.NODE_VERSION_TOLD })
// A Node of the first year of version 24 does not have it.
if (process.env.WITHOUT_PROXY_FUNCTION) delete http.setGlobalProxyFromEnv
syncBuiltinESMExports()
