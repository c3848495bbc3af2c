import type { ProxyProgram } from './http-proxy.js'

const MODULES = ['mpm_event', 'authz_core', 'rewrite', 'proxy', 'proxy_http']

/** `LimitRequestBody` does not apply to what it passes on, so a rule compares the size. */
export const APACHE: ProxyProgram = {
  name: 'apache2',
  debianPackage: 'apache2',
  settings: ({ folder, port, target, maxBytes }) => [
    ...MODULES.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    ...[`ServerRoot ${folder}`, `DefaultRuntimeDir ${folder}`, `PidFile ${folder}/pid`],
    ...[`Listen 127.0.0.1:${port}`, 'ServerName 127.0.0.1', 'ErrorLog /dev/stderr'],
    // As root, its workers run as this user.
    ...(process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []),
    ...['ProxyPreserveHost On', 'RewriteEngine On'],
    ...(maxBytes === null
      ? []
      : [`RewriteCond expr "%{HTTP:Content-Length} -gt ${maxBytes}"`, 'RewriteRule ^ - [R=413,L]']),
    `RewriteRule ^/(.*) http://${target}/$1 [P]`,
  ],
  args: (file) => ['-D', 'FOREGROUND', '-f', file],
}
