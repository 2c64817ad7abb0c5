// The licences of everything that is shipped inside the Action or the service: found from what the bundler says it put in, so that none can be forgotten.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

interface Shipped {
  name: string
  version: string
  licence: string
  author: string
  text: string
}

export async function collectLicences(root: string, what: string, inputs: string[]): Promise<string> {
  const folders = [...new Set(inputs.map(packageFolder))].filter((folder) => folder !== undefined)
  const packages = await Promise.all(folders.map((folder) => read(root, folder)))
  packages.sort((a, b) => (`${a.name} ${a.version}` < `${b.name} ${b.version}` ? -1 : 1))
  const intro = `${what} contains code and data of these ${packages.length} packages.\n`
  const list = packages.map(({ name, version, licence }) => `  ${name} ${version} (${licence})`).join('\n')
  const parts = packages.map(
    ({ name, version, licence, text }) => `${name} ${version}\nLicence: ${licence}\n\n${text.trim()}\n`,
  )
  return [`${intro}\n${list}\n`, ...parts].join(`\n${'─'.repeat(100)}\n\n`)
}

/** The innermost package a file belongs to. */
function packageFolder(path: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))?.[1]
}

async function read(root: string, folder: string): Promise<Shipped> {
  const description = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as Record<string, unknown>
  const name = String(description['name'])
  const licence = String(description['license'] ?? 'unknown')
  const author = formatAuthor(description['author'])
  const names = (await readdir(join(root, folder))).sort()
  const files = names.filter((file) => /^(licen[cs]e|copying|notice)([.-]|$)/i.test(file))
  const texts = await Promise.all(files.map((file) => readFile(join(root, folder, file), 'utf8')))
  const own = files.some((file) => !/^notice/i.test(file))
  const standard = own ? [] : [await standardText(root, name, licence, author)]
  const text = [...standard, ...texts].map((one) => one.replaceAll('\r\n', '\n').trim()).join('\n\n')
  return { name, version: String(description['version']), licence, author, text }
}

function formatAuthor(author: unknown): string {
  if (typeof author === 'string') return author
  return typeof author === 'object' && author !== null ? String((author as { name?: unknown }).name ?? '') : ''
}

/** For packages that declare a licence and ship no text of it. A licence we have no text for stops the build. */
async function standardText(root: string, name: string, licence: string, author: string): Promise<string> {
  const note = `This package ships no licence text; it declares ${licence}, whose text is:`
  const wanted = licence.replace(/[()]/g, '').split(/ AND | OR /)
  const texts = await Promise.all(
    wanted.map((one) => licenceText(root, one, author === '' ? `the authors of ${name}` : author)),
  )
  if (texts.some((text) => text === undefined))
    throw new Error(`${name} declares ${licence}, and there is no text of it here.`)
  return [note, ...texts].join('\n\n')
}

async function licenceText(root: string, licence: string, holder: string): Promise<string | undefined> {
  if (licence === 'BSD-3-Clause') return bsd(holder)
  if (licence !== 'Apache-2.0') return undefined
  const text = await readFile(join(root, 'node_modules/openai/LICENSE'), 'utf8')
  const end = text.indexOf('END OF TERMS AND CONDITIONS')
  return end < 0 ? undefined : text.slice(0, end + 'END OF TERMS AND CONDITIONS'.length)
}

const bsd = (holder: string) => `Copyright (c) ${holder}

Redistribution and use in source and binary forms, with or without modification, are permitted provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following disclaimer in the
   documentation and/or other materials provided with the distribution.
3. Neither the name of the copyright holder nor the names of its contributors may be used to endorse or promote products derived from this
   software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO,
THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO,
PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF
LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE,
EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.`
