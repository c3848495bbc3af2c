import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerKind } from './found-server.js'
import { installedProgram } from './installed-program.js'
import type { PrivateFolder } from './private-server.js'

/** Found like the test servers, with the path of the program as its URL. */
export const OPENSSL: ServerKind = {
  name: 'openssl',
  variable: 'OPENSSL_PATH',
  howToGet: 'install OpenSSL 3 (Debian: apt-get install openssl)',
  ways: [
    async () => {
      const path = installedProgram('openssl', ['/usr/bin', '/opt/homebrew/opt/openssl@3/bin'])
      return path === null ? null : { url: path, from: path, stop: async () => {} }
    },
  ],
}

export interface CertificateAuthority {
  /** The path of the server’s certificate. */
  readonly certificate: string
  /** Signs a certificate for a host name. It expires after this number of days, which may be negative. */
  sign(host: string, days: number): Promise<{ readonly certificate: string; readonly key: string }>
}

/** Creates a certificate authority whose files are in this folder, and belong to the user of the folder. */
export async function createAuthority(openssl: string, folder: PrivateFolder): Promise<CertificateAuthority> {
  const pathOf = (name: string) => join(folder.path, name)
  const own = { certificate: pathOf('ca.crt'), key: pathOf('ca.key') }
  const newKey = (key: string, host: string) => [
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    key,
    '-subj',
    `/CN=${host}`,
  ]
  await folder.run(openssl, [
    'req',
    '-x509',
    ...newKey(own.key, 'Own CA'),
    '-days',
    '30',
    '-out',
    own.certificate,
  ])
  let signed = 0
  return {
    certificate: own.certificate,
    async sign(host, days) {
      const name = pathOf(`server-${signed++}`)
      const [certificate, key, request, names] = ['.crt', '.key', '.csr', '.txt'].map(
        (end) => `${name}${end}`,
      )
      await folder.run(openssl, ['req', ...newKey(key!, host), '-out', request!])
      await writeFile(names!, `subjectAltName=DNS:${host}`)
      const issuer = ['-CA', own.certificate, '-CAkey', own.key, '-CAcreateserial']
      const validity = ['-days', String(days), '-extfile', names!]
      await folder.run(openssl, [
        'x509',
        '-req',
        '-in',
        request!,
        ...issuer,
        ...validity,
        '-out',
        certificate!,
      ])
      return { certificate: certificate!, key: key! }
    },
  }
}
