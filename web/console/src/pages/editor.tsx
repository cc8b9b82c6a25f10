export default function P() { return <div />; }
