import { route } from '@react-router/dev/routes'

export default [route('api/s3/*', 's3.js')]
