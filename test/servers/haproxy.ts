import type { ProxyProgram } from './http-proxy.js'

/** Has no limit of its own: rules compare the size. */
export const HAPROXY: ProxyProgram = {
  name: 'haproxy',
  debianPackage: 'haproxy',
  settings: ({ port, target, maxBytes }) => [
    ...['defaults', 'mode http', 'timeout connect 30s', 'timeout client 30s', 'timeout server 30s'],
    ...['frontend front', `bind 127.0.0.1:${port}`, 'default_backend back'],
    ...(maxBytes === null ? [] : [`http-request deny deny_status 413 if { req.body_size gt ${maxBytes} }`]),
    ...['backend back', `server one ${target}`],
  ],
  args: (file) => ['-db', '-f', file],
}
