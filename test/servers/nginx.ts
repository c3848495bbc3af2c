import type { ProxyProgram } from './http-proxy.js'

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

export const NGINX: ProxyProgram = {
  name: 'nginx',
  debianPackage: 'nginx-light',
  settings: ({ folder, port, target, maxBytes }) => [
    // Its workers write bodies to the folder, which another user can't.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    ...['daemon off;', `pid ${folder}/pid;`, 'events {}', 'http {', 'access_log off;'],
    ...TEMPORARY.map((kind) => `${kind}_temp_path ${folder}/${kind};`),
    ...(maxBytes === null ? [] : [`client_max_body_size ${maxBytes};`]),
    `server { listen 127.0.0.1:${port}; location / { proxy_pass http://${target}; } }`,
    '}',
  ],
  args: (file) => ['-c', file, '-e', 'stderr'],
}
