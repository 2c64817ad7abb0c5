// How code is bundled that leaves this repository as one: the Action's and the service's.
import type { BuildOptions, Metafile } from 'esbuild'

export const bundling = {
  bundle: true,
  splitting: true,
  chunkNames: '[name]-[hash]',
  format: 'esm',
  platform: 'node',
  mainFields: ['module', 'main'],
  minify: true,
  // Names of classes are asked to services (a user agent) and read from errors.
  keepNames: true,
  charset: 'utf8',
  legalComments: 'none',
  // Some packages ask for Node's modules by `require`.
  banner: {
    js: "import{createRequire as handoffRequire}from'node:module';const require=handoffRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions

/** Of all files that were read, those of which something is left. */
export function shippedFiles({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs))
  return [...new Set(inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path))]
}
