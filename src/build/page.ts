// The page as it is published: index.html with its script, style sheet, typeface and icon; the script that colours code, which is loaded with the first
// code; and the licences. Everything in the folder is public.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'
import { collectLicences } from './licenses.js'

/** Writes the page into `folder`. */
export async function buildPage(root: string, folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['main.ts', 'highlight.ts', 'style.css', 'index.html', 'icon.svg'].map((name) => join('web', name)),
    outdir: folder,
    assetNames: '[name]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    loader: { '.html': 'copy', '.svg': 'copy', '.woff2': 'file', '.yml': 'text' },
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
  })
  await writeFile(join(folder, 'licenses.txt'), await collectLicences(root, 'The page', Object.keys(metafile.inputs)))
}
