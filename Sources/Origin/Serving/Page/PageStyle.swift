extension Page {
  static let style = """
    :root{--bg:#f6f6f4;--card:#fff;--text:#1c1c1a;--soft:#62625c;--line:#dcdcd6;--accent:#0b5cad;--live:#c62828;
    --present:#3f7d58;--late:#b97a00;--missing:#c62828;--focus:#0b5cad}
    @media (prefers-color-scheme:dark){:root{--bg:#141415;--card:#1e1e20;--text:#ececea;--soft:#a2a29c;--line:#343437;
    --accent:#7db7f5;--live:#ff6b62;--present:#5fae80;--late:#e0a63a;--missing:#ff6b62;--focus:#7db7f5}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--bg);color:var(--text);font:16px/1.45 system-ui,sans-serif}
    header{display:flex;align-items:baseline;gap:1rem;padding:.7rem 1rem;border-bottom:1px solid var(--line)}
    h1{font-size:1.1rem;margin:0}h1 a{color:inherit;text-decoration:none}
    #status{margin:0;flex:1;color:var(--soft);font-size:.9rem}
    main{max-width:68rem;margin:0 auto;padding:1rem}
    [hidden]{display:none!important}
    a{color:var(--accent)}
    :focus-visible{outline:3px solid var(--focus);outline-offset:2px}
    .bar{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1rem;margin-bottom:.8rem}
    .bar label{font-weight:600}
    input,select,button{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);
    border-radius:6px;padding:.4rem .7rem}
    button{cursor:pointer}button:hover{border-color:var(--accent)}
    button.quiet{background:none;border:0;color:var(--accent);padding:0;font-size:.9rem}
    #filter{flex:1;min-width:10rem}
    ul{list-style:none;margin:0;padding:0;display:grid;gap:.6rem;grid-template-columns:repeat(auto-fill,minmax(18rem,1fr))}
    li a{display:block;background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem;
    color:inherit;text-decoration:none;height:100%;overflow:hidden}
    li a:hover{border-color:var(--accent)}
    li img{display:block;width:calc(100% + 2rem);margin:-.8rem -1rem .7rem;aspect-ratio:16/9;object-fit:cover;
    background:#000}
    li strong{display:block;overflow-wrap:anywhere;line-height:1.25}
    li span{display:block;color:var(--soft);font-size:.9rem}
    .badge,#badge{display:inline-block;font-size:.78rem;font-weight:600;border-radius:99px;padding:.05rem .6rem;
    border:1px solid var(--line);color:var(--soft)}
    li .badge{float:right;margin:0 0 .2rem .5rem}
    .live{color:#fff!important;background:#c62828;border-color:#c62828!important}
    .silent{color:var(--late)!important;border-color:var(--late)!important}
    .warn{color:var(--missing)!important}
    #title{margin:0;font-size:1.15rem;overflow-wrap:anywhere}#title:focus{outline:none}
    #stage{position:relative;background:#000;border-radius:10px;overflow:hidden}
    video{display:block;width:100%;max-height:60vh;aspect-ratio:16/9;background:#000}
    #message{position:absolute;inset:auto 0 0 0;margin:0;padding:.7rem 1rem;background:#000c;color:#fff;
    overflow-wrap:anywhere}#message a{color:#9cc9ff}#message button{color:var(--text)}
    #controls{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;margin:.8rem 0}
    #timeline{position:relative;height:2.4rem;border:1px solid var(--line);border-radius:6px;background:var(--card);
    cursor:pointer;touch-action:none;overflow:hidden}
    #spans div{position:absolute;top:0;bottom:0;min-width:1px;background:var(--present)}
    #spans .new,i.new{box-shadow:inset 2px 0 var(--text)}i.new{background:none;width:.4em}
    #spans .break,i.break{background:repeating-linear-gradient(90deg,var(--soft) 0 1px,transparent 1px 4px)}
    #spans .late,i.late{background:var(--late)}
    #spans .missing,i.missing{background:repeating-linear-gradient(135deg,var(--missing) 0 4px,transparent 4px 8px)}
    #head{position:absolute;top:0;bottom:0;width:3px;margin-left:-1px;background:var(--text);
    box-shadow:0 0 0 1px var(--card)}
    #strip{position:relative}
    #peek{position:absolute;bottom:.3rem;width:160px;margin-left:-80px;background:#000;color:#fff;border-radius:6px;
    overflow:hidden;text-align:center;font-size:.85rem;pointer-events:none;z-index:1}#peek img{display:block;width:100%}
    #axis{display:flex;justify-content:space-between;font-size:.85rem;color:var(--soft);
    font-variant-numeric:tabular-nums;margin-top:.2rem}
    #legend,#facts,#health,#links,.keys{margin:.5rem 0;font-size:.9rem;color:var(--soft)}
    .none{display:none!important}#links{overflow-wrap:anywhere}
    i{display:inline-block;width:1em;height:.8em;border-radius:2px;margin:0 .15em 0 .7em;background:var(--present)}
    i:first-child{margin-left:0}
    form{max-width:24rem;margin:2rem auto;display:grid;gap:.6rem}
    @media (max-width:40rem){main{padding:.6rem}header{padding:.6rem}.keys{display:none}
    #controls button,#controls select{flex:1 1 auto;min-height:44px}ul{grid-template-columns:1fr}}
    """
}
