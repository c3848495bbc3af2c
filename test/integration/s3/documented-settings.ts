import { readDocuments } from '../readme/documents.js'

/** Returns the JSON from docs/s3.md that contains this field, for a bucket with this name. */
export function documentedSettings<T>(field: 'Allow' | 'Deny' | 'CORSRules' | 'Rules', bucket: string): T {
  const { blocks } = readDocuments().find(({ path }) => path === 'docs/s3.md')!
  const found = blocks.filter(({ language, code }) => language === 'json' && code.includes(`"${field}"`))
  if (found.length !== 1) throw new Error(`docs/s3.md has ${found.length} blocks with "${field}".`)
  return JSON.parse(found[0]!.code.replaceAll('my-bucket', bucket)) as T
}
